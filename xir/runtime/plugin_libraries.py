"""Shared libraries of kernels and backends that plugins bring with them."""

from __future__ import annotations

import os
from collections.abc import Iterable

_registered: list[str] = []


def register_library(path: str | os.PathLike[str]) -> None:
    """Make the kernels and backends of a shared library available to every program that is loaded from now on.

    A plugin calls this with a library that it built on `xir/kernel_library.h`. Registering a file again has no effect.
    """
    name = os.path.realpath(path)
    if name not in _registered:
        _registered.append(name)


def with_registered(libraries: Iterable[str | os.PathLike[str]]) -> list[str]:
    """These libraries and those of plugins, each once."""
    own = [os.fspath(library) for library in libraries]
    known = {os.path.realpath(library) for library in own}
    return own + [library for library in _registered if library not in known]
