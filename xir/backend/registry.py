"""The backends by name, each loaded when it is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xir.backend.interface import Backend

BackendFactory = Callable[[], "Backend"]


def _lazy(module: str, name: str) -> BackendFactory:
    return lambda: getattr(import_module(module), name)()


BACKENDS: dict[str, BackendFactory] = {"xnnpack": _lazy("xir.transforms.xnnpack.backend", "XnnpackBackend")}
"""Backend name -> factory. Plugins add theirs by `xir.backend.plugins`."""


def backend_named(name: str) -> Backend:
    """A backend. ValueError for the name of none."""
    if (factory := BACKENDS.get(name)) is None:
        close = difflib.get_close_matches(name, BACKENDS, n=1)
        raise ValueError(f"there is no backend '{name}'{f', did you mean {close[0]!r}?' if close else ''}")
    return factory()


def backend_of_id(id: str) -> Backend | None:
    """The backend whose delegates have this id in files; None if there is none."""
    backends = (factory() for factory in BACKENDS.values())
    return next((backend for backend in backends if id in backend.ids.values()), None)
