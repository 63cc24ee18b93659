"""Mistakes in the sources of passes, planted while a test runs."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Generator, Iterator
from types import FunctionType, ModuleType
from typing import Any


@contextlib.contextmanager
def planted(name: str, before: str, after: str) -> Generator[None]:
    """The functions of a module `xir.<name>` become those of its source with `after` instead of `before`.

    What functions keep of earlier calls (`functools.cache`) stays: plant where nothing is kept.
    """
    module = importlib.import_module(f"xir.{name}")
    source = inspect.getsource(module)
    assert source.count(before) == 1, before
    changed = ModuleType(module.__name__)
    exec(compile(source.replace(before, after), str(module.__file__), "exec"), changed.__dict__)
    pairs = list(zip(functions(module), functions(changed), strict=True))
    codes = [old.__code__ for old, _ in pairs]
    try:
        for old, new in pairs:
            old.__code__ = new.__code__
        yield
    finally:
        for (old, _), code in zip(pairs, codes, strict=True):
            old.__code__ = code


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """The functions and methods that a module defines, in the order of their names, with those that decorators hold."""
    for name, value in sorted(vars(module).items()):
        members = dict(sorted(vars(value).items())) if inspect.isclass(value) else {name: value}
        if getattr(value, "__module__", None) == module.__name__:
            for member in members.values():
                yield from held(member, module.__name__)


def held(value: Any, module: str) -> Iterator[FunctionType]:
    """A function of a module, or those of it that another one wraps."""
    function = inspect.unwrap(value) if callable(value) else value
    if not isinstance(function, FunctionType):
        return
    if function.__module__ == module:
        yield function
    for cell in function.__closure__ or ():
        yield from held(cell.cell_contents, module)
