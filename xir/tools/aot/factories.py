"""Functions of the user's, named on the command line as `FILE.py:FUNCTION`."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xir.models.torchvision_operators import make_importable
from xir.tools.command_line import UsageError
from xir.tools.missing_packages import IMPORTER

EXTRAS = {
    **dict.fromkeys(IMPORTER, "importer"),
    **dict.fromkeys(("transformers", "tokenizers", "safetensors", "jinja2"), "llm"),
    "executorch": "executorch",
}
"""The extra of pyproject.toml that a package is installed with."""


def user_function(reference: str, option: str, kind: str = "FACTORY") -> tuple[str, Callable[[], Any]]:
    """Name and function of `path.py:function`."""
    file, colon, name = reference.rpartition(":")
    if not colon or not file:
        raise UsageError(f"{option} takes FILE.py:{kind}, got '{reference}'")
    if not Path(file).exists():
        raise UsageError(f"'{file}' is no Python file: there is no file of this name")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file) if Path(file).is_file() else None
    if spec is None or spec.loader is None:
        raise UsageError(f"'{file}' is no Python file: its name has to end in .py")
    module = importlib.util.module_from_spec(spec)
    make_importable()
    sys.modules.setdefault(spec.name, module)  # where dataclasses look for the module that they are of
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        needed = f": it comes with xir[{extra}]" if extra else ""
        raise UsageError(f"'{file}' imports '{error.name}', which is not installed{needed}") from error
    except (Exception, SystemExit) as error:
        raise UsageError(_failure(file, error, file)) from error
    if not callable(function := getattr(module, name, None)):
        raise UsageError(f"'{file}' has no function '{name}'")
    return name, function


def called(name: str, function: Callable[[], Any]) -> Any:
    """What a function of the user's returns; UsageError if it fails."""
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise UsageError(f"'{name}' is called without arguments: {error}; give it a default") from error
    except ValueError:
        pass  # a function of C, which has no signature to ask
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise UsageError(_failure(name, error, _file_of(function))) from error


def _file_of(function: Callable[[], Any]) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else code.co_filename


def _failure(name: str, error: BaseException, file: str) -> str:
    """What a file or function did that failed, with the last line of the user's file that ran."""
    if isinstance(error, SystemExit):
        what = f"'{name}' ended Python ({error.code}): put what runs as a script below `if __name__ == '__main__':`"
    else:
        what = f"'{name}' failed: {type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [each.lineno for each in frames if Path(each.filename).resolve() == Path(file).resolve()]
    return f"{what} ({file}:{lines[-1]})" if lines else what


@dataclass(frozen=True)
class Made:
    """What a factory returns."""

    model: Any
    args: tuple[Any, ...]
    """Example inputs."""
    kwargs: dict[str, Any]
    dynamic_shapes: Any
    """As `torch.export.export` takes them; None where all are static."""


def call_factory(reference: str) -> tuple[str, Made]:
    """`path.py:factory`: its name, and what it returns.

    That is `(model, args)`, `(model, args, dynamic_shapes)`, `(model, args, kwargs)` or `(model, args, kwargs,
    dynamic_shapes)`. Of three the last one is keyword arguments if it is a dict with a tensor in it.
    """
    factory, function = user_function(reference, "--model")
    if hasattr(function, "forward"):
        raise UsageError(f"'{factory}' is a module: name a function that returns it and a tuple of example inputs")
    result = called(factory, function)
    if isinstance(result, tuple) and result and isinstance(result[0], type):
        raise UsageError(f"'{factory}' returns the class '{result[0].__name__}': return an instance of it")
    if not isinstance(result, tuple) or len(result) not in (2, 3, 4) or not callable(getattr(result[0], "eval", None)):
        kinds = [type(each).__name__ for each in result] if isinstance(result, tuple) else [type(result).__name__]
        raise UsageError(
            f"'{factory}' has to return a module and a tuple of example inputs, and if it needs them a dict of keyword "
            f"arguments and the dynamic shapes; it returns {', '.join(kinds) or 'nothing'}"
        )
    model, args, *rest = result
    if len(rest) == 1:
        rest = [rest[0], None] if _are_keyword_arguments(rest[0]) else [{}, rest[0]]
    kwargs, shapes = rest or ({}, None)
    if not isinstance(args, tuple | list) or not isinstance(kwargs or {}, dict):
        raise UsageError(f"'{factory}' has to return its example inputs as a tuple, and keyword arguments as a dict")
    return factory, Made(model.eval(), tuple(args), dict(kwargs or {}), shapes)


def _are_keyword_arguments(value: Any) -> bool:
    from torch import Tensor
    from torch.utils import _pytree as pytree

    return isinstance(value, dict) and any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(value))
