"""The dialects of xir by name, each loaded when the first op, type or attribute of it is met."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.ir import Dialect

DialectFactory = Callable[[], Dialect]


def _lazy(module: str, name: str) -> DialectFactory:
    return lambda: getattr(import_module(module), name)


DIALECTS: dict[str, DialectFactory] = {
    "delegate": _lazy("xir.dialects.delegate", "Delegate"),
    "edge": _lazy("xir.dialects.edge", "Edge"),
    "func": _lazy("xdsl.dialects.func", "Func"),
    "pte": _lazy("xir.dialects.pte", "Pte"),
    "quant": _lazy("xir.dialects.quant", "Quant"),
    "xnnpack": _lazy("xir.dialects.xnnpack", "Xnnpack"),
}
"""Dialect name -> factory. `builtin` is not here: each context makes its own, around its blob store."""


def register_dialect(name: str, factory: DialectFactory) -> None:
    """Add a dialect from outside to all contexts made from now on. ValueError if there is one of that name."""
    if name in DIALECTS or name == "builtin":
        raise ValueError(f"there is a dialect '{name}' already")
    DIALECTS[name] = factory
