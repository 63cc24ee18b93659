"""How large open dimensions can become: the annotations that `xir.transforms` plans memory by."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr, StringAttr
from xdsl.ir import Attribute

from xir.dialects.edge.attributes import int_array
from xir.ir.annotations import DIM_NAMES, MAX_SHAPE, MAX_SHAPES, MIN_SHAPE
from xir.ir.diagnostics import DiagnosticError

from .dtypes import is_dynamic, is_open

Ranges = Mapping[Any, ValueRanges[Any]]
"""Symbol of a size -> the values it may have, as an exported program has them."""


def bounded(ranges: Ranges, max_size: int | None) -> Ranges:
    """The ranges with `max_size` as upper bound of the sizes that have none."""
    if max_size is None:
        return ranges
    return {
        symbol: each if _is_size(each.upper) else ValueRanges(min(each.lower, max_size), max_size)
        for symbol, each in ranges.items()
    }


def _is_size(bound: Any) -> bool:
    """Whether an upper bound is one that a tensor can have."""
    return bool(bound.is_Integer) and int(bound) < 2**31


def input_bounds(name: str, value: Any, ranges: Ranges, location: LocationAttr) -> DictionaryAttr:
    """For an input with open dimensions `xir.max_shape`, the largest shape, and what the dimensions are called.

    DiagnosticError at `location` if a dimension has no bound.
    """
    if not is_dynamic(value):
        return DictionaryAttr({})
    shape: list[int] = []
    for dim, size in enumerate(value.shape):
        if (bound := largest(size, ranges)) is None:
            raise DiagnosticError(
                location,
                f"dimension {dim} of input '{name}' has no upper bound: give one, torch.export.Dim(..., max=...), "
                "xir.to_edge(..., max_size=...) or xir-aot --max-size",
            )
        shape.append(bound)
    bounds: dict[str, Attribute] = {MAX_SHAPE: int_array(tuple(shape)), DIM_NAMES: dim_names(value)}
    if any(least := [smallest(size, ranges) for size in value.shape]):
        bounds[MIN_SHAPE] = int_array(tuple(least))
    return DictionaryAttr(bounds)


def result_bounds(values: Sequence[Any], ranges: Ranges) -> dict[str, Attribute]:
    """The same of an op's results, a list with an entry for each; nothing where no dimension is open, or one unbounded.

    Ops whose row infers shapes need none.
    """
    if not any(map(is_dynamic, values)):
        return {}
    shapes: list[Attribute] = []
    for value in values:
        sizes = [largest(size, ranges) for size in getattr(value, "shape", ())]
        known = tuple(size for size in sizes if size is not None)
        if len(known) < len(sizes):
            return {}
        shapes.append(int_array(known))
    return {MAX_SHAPES: ArrayAttr(shapes), DIM_NAMES: ArrayAttr(map(dim_names, values))}


def largest(size: int | torch.SymInt, ranges: Ranges) -> int | None:
    """The upper bound of a size, if it has one that a tensor can have."""
    if isinstance(size, int):
        return size
    upper = bound_sympy(size.node.expr, dict(ranges)).upper
    return int(upper) if _is_size(upper) else None


def smallest(size: int | torch.SymInt, ranges: Ranges) -> int:
    """The least that an exported program takes for an open size, 0 for others.

    Every one is taken to be more than 1 when it is exported, and a program accepts 0 and 1 all the same
    (`torch._export.utils._check_input_constraints_for_graph`).
    """
    if not isinstance(size, torch.SymInt) or not is_open(size):
        return 0
    lower = bound_sympy(size.node.expr, dict(ranges)).lower
    return int(lower) if lower.is_Integer and 2 < int(lower) < 2**31 else 0


def dim_names(value: Any) -> ArrayAttr[StringAttr]:
    """The expression of each open dimension, which says where sizes are the same; an empty text for static ones."""
    return ArrayAttr(StringAttr(str(size) if is_open(size) else "") for size in getattr(value, "shape", ()))
