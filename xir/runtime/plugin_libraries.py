"""Shared libraries of kernels and backends that plugins bring with them."""

from __future__ import annotations

import os
from collections.abc import Iterable

_registered: list[str] = []


def register_library(path: str | os.PathLike[str]) -> None:
    """Have every program that is loaded from now on find the kernels and backends of a shared library.

    A plugin calls this with what it has built on `xir/kernel_library.h`. Twice for one file is once.
    """
    name = os.path.realpath(path)
    if name not in _registered:
        _registered.append(name)


def with_registered(libraries: Iterable[str | os.PathLike[str]]) -> list[str]:
    """These libraries and those of plugins, each once."""
    own = [os.fspath(library) for library in libraries]
    known = {os.path.realpath(library) for library in own}
    return own + [library for library in _registered if library not in known]
