"""Holds traces of operators to what is true of all sizes that are open."""

# pyright: reportPrivateUsage=false
# torch keeps what it knows of sizes in methods whose names begin with an underscore.

from __future__ import annotations

import itertools
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import sympy
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from .dtypes import is_open

MOST_TRIED = 4096
"""So many combinations of sizes are tried at most for one question."""


@contextmanager
def open_sizes(inputs: list[Node]) -> Generator[None]:
    """Where sizes of nodes are open, hold a trace to what is true of all that they may be.

    Whatever makes a number or a choice of an open size, be it `int(size * factor)` or `if size > 8`, has torch note
    that it holds for the example alone; `torch.export` refuses such a program, but nobody asks behind it. So this
    has torch raise `_ShapeEnvGuardError`.
    Dispatch is in Python, since torch's C++ asks for the numbers of sizes where its Python does not.
    """
    values = [node.meta.get("val") for node in inputs]
    numbers = [value for value in values if isinstance(value, torch.SymInt)]
    sizes = [size for value in values if isinstance(value, torch.Tensor) for size in value.shape]
    open_size = next(filter(is_open, (*sizes, *numbers)), None)
    if not isinstance(open_size, torch.SymInt):
        yield
        return
    env = open_size.node.shape_env
    with enable_python_dispatcher(), env.error_on_new_guards(), _tried(env):
        yield


@contextmanager
def _tried(env: ShapeEnv) -> Generator[None]:
    """Where torch cannot tell whether something is true of all sizes, try them, if they are few.

    torch reasons by the ranges of sizes alone: of s in [2, 9] it does not see that s is never (s + 1) // 2.
    """
    known = env._maybe_evaluate_static

    def evaluated(expr: sympy.Basic, *args: Any, **kwargs: Any) -> sympy.Basic | None:
        found = known(expr, *args, **kwargs)
        return _for_all_sizes(env, expr) if found is None else found

    env._maybe_evaluate_static = evaluated  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        del env._maybe_evaluate_static


def _for_all_sizes(env: ShapeEnv, expr: sympy.Basic) -> sympy.Basic | None:
    """What an expression is for all sizes; None if that differs, or there are too many."""
    expr = env.replace(expr)
    ranges, combinations = list[range](), 1
    symbols = sorted(expr.free_symbols, key=str)
    for symbol in symbols:
        limits = env.var_to_range.get(symbol)  # pyright: ignore[reportArgumentType]
        if limits is None or not (limits.lower.is_Integer and limits.upper.is_Integer):
            return None
        low, high = int(limits.lower), int(limits.upper)
        ranges.append(range(low, high + 1))
        combinations *= high - low + 1  # which is more than `len` can say where nothing bounds a size
        if combinations > MOST_TRIED:
            return None
    common: sympy.Basic | None = None
    for sizes in itertools.product(*ranges):
        value = expr.xreplace(dict(zip(symbols, map(sympy.Integer, sizes), strict=True)))
        if value.free_symbols or common not in (None, value):
            return None
        common = value
    return common
