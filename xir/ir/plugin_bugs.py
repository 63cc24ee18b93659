"""Bugs of plugins: the line that an exception comes from, and what a plugin's functions may not return."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

VARIADIC = 0x04
"""`CO_VARARGS` of Python's `inspect`, which is not imported at each start for one number."""

_places: set[str] = set()
"""The file of each plugin that is a file, the folder of each that is a package."""


class WrongResultError(TypeError):
    """A function of a plugin has returned what it may not."""

    def __init__(self, function: Callable[..., Any], message: str):
        super().__init__(f"{function.__qualname__} {message}")
        self.function = function


def remember_plugin(module: ModuleType) -> None:
    """Take bugs in a module's file, or in its folder if it is a package, for a plugin's from now on."""
    if (file := getattr(module, "__file__", None)) is not None:
        _places.add(str(Path(file).parent) + os.sep if Path(file).name == "__init__.py" else file)


def is_of_plugin(function: Callable[..., Any]) -> bool:
    """Whether a plugin defines a function."""
    code = getattr(function, "__code__", None)
    return code is not None and _is_plugins(code.co_filename)


def plugin_line(error: BaseException) -> tuple[str, int] | None:
    """File and line of the plugin that ran last when `error` was raised, or whose result is wrong; None for none."""
    if isinstance(error, WrongResultError) and (code := getattr(error.function, "__code__", None)) is not None:
        return code.co_filename, code.co_firstlineno
    from traceback import walk_tb

    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return next((each for each in reversed(frames) if _is_plugins(each[0])), None)


def check_parameters(function: Callable[..., Any], *names: str) -> None:
    """TypeError if a function that is registered cannot be called with so many arguments."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & VARIADIC:
        return
    needed = code.co_argcount - len(function.__defaults__ or ())
    if not needed <= len(names) <= code.co_argcount:
        raise TypeError(f"{function.__qualname__} has to take {len(names)} parameters, ({', '.join(names)})")


def check_values(function: Callable[..., Any], made: object, count: int) -> None:
    """WrongResultError if what a plugin's function returned does not stand for an op's `count` results."""
    if made is None or not is_of_plugin(function):
        return
    from xdsl.ir import SSAValue  # not needed to read a command line

    values: Sequence[object] = [made] if isinstance(made, SSAValue) or not isinstance(made, Sequence) else made
    if len(values) != count or not all(isinstance(each, SSAValue) for each in values):
        wanted = "the value that replaces the op's result" if count == 1 else f"a list of {count} values"
        raise WrongResultError(function, f"has to return {wanted}, and returned {made!r}")


def _is_plugins(file: str) -> bool:
    return any(file == place or (place.endswith(os.sep) and file.startswith(place)) for place in _places)
