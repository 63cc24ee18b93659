"""The passes of xir, found by listing this folder: adding a pass is adding its file.

`fuse-conv-relu` is `fuse_conv_relu.py` is `FuseConvReluPass`. A file whose name starts with an underscore, and a
folder, hold what passes share. A pass is imported when it is asked for; its help is read from its source.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xir.ir.passes import XirPass

_FOLDER = Path(__file__).parent
_NOT_PASSES = {"registry", "pipelines"}


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


def _lazy(name: str) -> Callable[[], type[XirPass]]:
    module = f"xir.transforms.{name.replace('-', '_')}"
    return lambda: getattr(import_module(module), class_name(name))


PASSES: dict[str, Callable[[], type[XirPass]]] = {
    path.stem.replace("_", "-"): _lazy(path.stem.replace("_", "-"))
    for path in sorted(_FOLDER.glob("[a-z]*.py"))
    if path.stem not in _NOT_PASSES
}
"""Pass name -> lazy factory of its class."""


def describe(name: str) -> PassInfo:
    """The summary and options of a pass, read from its source without importing it (and the dialects it needs)."""
    tree = ast.parse((_FOLDER / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8"))
    wanted = class_name(name)
    cls = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == wanted)
    summary, _, description = (ast.get_docstring(cls) or "").partition("\n")
    options: list[PassOption] = []
    for node, following in zip(cls.body, [*cls.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        annotation = ast.unparse(node.annotation)
        if annotation.startswith("ClassVar"):
            continue
        default = None if node.value is None else ast.unparse(node.value)
        options.append(PassOption(node.target.id.replace("_", "-"), annotation, default, _string(following)))
    return PassInfo(name, summary, description.strip(), tuple(options))


def _string(node: ast.stmt | None) -> str:
    """The docstring that a statement is, or nothing."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""
