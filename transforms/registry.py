"""The passes of xir, found by listing the folders of their levels: adding a pass is adding its file. And its pipelines.

`fuse-conv-relu` is `fuse_conv_relu.py` is `FuseConvReluPass`. In those folders a file whose name starts with an
underscore, and a folder, hold what passes share. A pass is imported when it is asked for; its help is read from its
source.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xir.transforms.pipelines import PIPELINES, Pipeline

if TYPE_CHECKING:
    from xir.ir.passes import XirPass

PHASES = ("select", "optimize", "schedule", "finish")
"""The folders of a backend's passes, which are pipelines too, in the order that they run in."""

LEVELS = ("general", "edge", "delegate", *(f"xnnpack/{phase}" for phase in PHASES), "pte")
"""The folders with passes, by the IR that these work on."""

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class PassOption:
    """One option of a pass, as text for a listing."""

    name: str
    type: str
    default: str | None
    help: str


@dataclass(frozen=True)
class PassInfo:
    """What a listing says about a pass."""

    name: str
    summary: str
    """The first line of the docstring."""
    description: str
    """The rest of it."""
    options: tuple[PassOption, ...]


def class_name(name: str) -> str:
    """`fuse-conv-relu` -> `FuseConvReluPass`."""
    return "".join(word.capitalize() for word in name.split("-")) + "Pass"


def _lazy(path: Path) -> Callable[[], type[XirPass]]:
    folder = path.parent.relative_to(_FOLDER).as_posix().replace("/", ".")
    module = f"xir.transforms.{folder}.{path.stem}"
    return lambda: getattr(import_module(module), class_name(path.stem.replace("_", "-")))


_FILES = {
    path.stem.replace("_", "-"): path
    for path in sorted((path for level in LEVELS for path in (_FOLDER / level).glob("[a-z]*.py")), key=lambda p: p.stem)
}
"""Pass name -> its file."""

PASSES: dict[str, Callable[[], type[XirPass]]] = {name: _lazy(path) for name, path in _FILES.items()}
"""Pass name -> lazy factory of its class."""


PassT = TypeVar("PassT", bound="type[XirPass]")


def register_pass(cls: PassT) -> PassT:
    """Add a pass from outside; usable as a decorator of its class.

    Raises ValueError if the name exists; TypeError if the class has no `apply`, or options of unsupported types.
    """
    from xir.ir.passes import XirPass

    if not issubclass(cls, XirPass):
        raise TypeError(f"{cls.__name__} has to derive from XirPass")
    cls.check_declaration()
    register_factory(cls.name, lambda: cls)
    return cls


def register_factory(name: str, factory: Callable[[], type[XirPass]]) -> None:
    """Add a pass from outside whose class is loaded when it is asked for."""
    _refuse_taken(name)
    PASSES[name] = factory


def register_pipeline(name: str, text: str, reason: str = "") -> None:
    """Add a pipeline from outside. Raises ValueError if a pipeline or pass has that name."""
    _refuse_taken(name)
    PIPELINES[name] = Pipeline(text, reason)


def _refuse_taken(name: str) -> None:
    if name in PASSES or name in PIPELINES:
        raise ValueError(f"there is a pass or pipeline '{name}' already")


def passes_of(text: str) -> list[XirPass]:
    """The passes of a textual pipeline, such as `simplify,fold-constants`. Raises DiagnosticError if it is invalid."""
    from xir.ir.pipeline import parse_pipeline

    return parse_pipeline(text, PASSES, pipeline_texts())


def pipeline_texts() -> dict[str, str]:
    """What the pipelines stand for, by name."""
    return {name: pipeline.text for name, pipeline in PIPELINES.items()}


def describe(name: str) -> PassInfo:
    """The summary and options of a pass, read from its source; one of xir's own is not imported for it."""
    cls = _definition(name)
    if cls is None:
        summary, _, description = inspect.cleandoc(PASSES[name]().__doc__ or "").partition("\n")
        return PassInfo(name, summary, description.strip(), ())
    summary, _, description = (ast.get_docstring(cls) or "").partition("\n")
    return PassInfo(name, summary, description.strip(), _options(cls))


def describe_options(cls: type) -> tuple[PassOption, ...]:
    """The options of another dataclass that has some, such as a partitioner, read from its source."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    return _options(definition)


def _options(cls: ast.ClassDef) -> tuple[PassOption, ...]:
    options: list[PassOption] = []
    for node, following in zip(cls.body, [*cls.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        annotation = ast.unparse(node.annotation)
        if annotation.startswith("ClassVar"):
            continue
        default = None if node.value is None else ast.unparse(node.value)
        options.append(PassOption(node.target.id.replace("_", "-"), annotation, default, _string(following)))
    return tuple(options)


def _definition(name: str) -> ast.ClassDef | None:
    """The source of a pass's class; None where there is none to read."""
    try:
        if name in _FILES:
            wanted = class_name(name)
            source = _class_source(_FILES[name].read_text(encoding="utf-8"), wanted)
        else:
            source, wanted = textwrap.dedent(inspect.getsource(PASSES[name]())), PASSES[name]().__name__
    except (OSError, TypeError):
        return None
    found = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == wanted)
    return next(found, None)


def _class_source(text: str, name: str) -> str:
    """The lines of a class: parsing all of each pass would be most of what `--help` takes."""
    lines = text.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if line.startswith(f"class {name}(")), len(lines))
    rest = (i for i in range(start + 1, len(lines)) if not lines[i][0].isspace())
    return "".join(lines[start : next(rest, len(lines))])


def _string(node: ast.stmt | None) -> str:
    """The docstring that a statement is, or nothing."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""
