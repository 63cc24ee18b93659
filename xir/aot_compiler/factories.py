"""Functions of the user's, named on the command line as `FILE.py:FUNCTION`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xir.aot_compiler.arguments import UsageError


def user_function(reference: str, option: str) -> tuple[str, Callable[[], Any]]:
    """Name and function of `path.py:function`."""
    file, colon, name = reference.rpartition(":")
    if not colon or not file:
        raise UsageError(f"{option} takes FILE.py:FACTORY, got '{reference}'")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file) if Path(file).is_file() else None
    if spec is None or spec.loader is None:
        raise UsageError(f"'{file}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(function := getattr(module, name, None)):
        raise UsageError(f"'{file}' has no function '{name}'")
    return name, function


def called(name: str, function: Callable[[], Any]) -> Any:
    """What a function of the user's returns; UsageError if it fails."""
    try:
        return function()
    except Exception as error:
        raise UsageError(f"'{name}' failed: {type(error).__name__}: {error}") from error


def call_factory(reference: str) -> tuple[str, Any, Any, Any]:
    """`path.py:factory`: its name, and the module, example inputs and dynamic shapes, if any, that it returns."""
    factory, function = user_function(reference, "--model")
    result = called(factory, function)
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise UsageError(
            f"'{factory}' has to return a module and a tuple of example inputs, or the dynamic shapes as well"
        )
    model, inputs, *shapes = result
    return factory, model.eval(), inputs, shapes[0] if shapes else None
