"""Reshapes to several dynamic dimensions, of which a reshape node infers only one.

What leaves each dynamic dimension whole can be composed of nodes that take all sizes as they come: a product with a
one of higher rank adds leading dimensions of size 1, a mean over two dimensions of size 1 drops them, and slices that
are joined along another dimension split a static dimension or merge two. Transposes bring everything to its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import Shape, rank_of, u32s
from xir.dialects.xnnpack.shape import MOST_JOINED
from xir.ir.symbolic_size import SymbolicSize, size_order

if TYPE_CHECKING:
    from xir.transforms.xnnpack.legalizations.rule import NodeBuilder

MAX_PIECES = 64
"""The most slices that a dimension is cut into."""

Group = tuple[list[int], list[int]]
"""Neighbouring sizes before and after a reshape, of the same product."""


def composed_reshape(b: NodeBuilder, value: SSAValue, shape: Shape) -> SSAValue | None:
    """`value` in another shape with several dynamic dimensions; None where one of them would be split or merged."""
    groups = grouped([size for size in b.shape(value) if size != 1], [size for size in shape if size != 1])
    if groups is None or not all(is_composable(group) for group in groups):
        return None
    value, units = units_first(b, value)
    done = 0
    for before, after in groups:
        if before != after:
            for position in reversed(range(len(before) - 1)):
                value, units = merge(b, value, units + done + position), units + 1
            for size in after[:-1]:
                if not units:
                    value, units = lift(b, value, 1), 1
                value, units, done = split(b, value, units + done, size), units - 1, done + 1
        done += 1
    value = with_units(b, value, units, shape.count(1))
    fronts, others = iter(range(shape.count(1))), iter(range(shape.count(1), len(shape)))
    return b.transpose(value, [next(fronts if size == 1 else others) for size in shape])


def grouped(before: Sequence[int], after: Sequence[int]) -> list[Group] | None:
    """The smallest runs of sizes that have one product on both sides; None if the sides have different products."""
    groups: list[Group] = []
    left, right = list(before), list(after)
    i = j = 0
    while i < len(left) and j < len(right):
        start, end, product, other = i, j, left[i], right[j]
        i, j = i + 1, j + 1
        while product != other:
            first = size_order(product) < size_order(other)
            if first and i < len(left):
                product, i = product * left[i], i + 1
            elif not first and j < len(right):
                other, j = other * right[j], j + 1
            else:
                return None
        groups.append((list(before[start:i]), list(after[end:j])))
    return groups if i == len(left) and j == len(right) else None


def is_composable(group: Group) -> bool:
    """Whether dynamic dimensions stay whole, and static ones are not cut into too many pieces."""
    before, after = group
    if before == after:
        return True
    if any(isinstance(size, SymbolicSize) for size in (*before, *after)):
        return False
    return max((*before[:-1], *after[:-1])) <= MAX_PIECES


def units_first(b: NodeBuilder, value: SSAValue) -> tuple[SSAValue, int]:
    """`value` with the dimensions of size 1 in front, and how many there are."""
    shape = b.shape(value)
    units = [axis for axis, size in enumerate(shape) if size == 1]
    return b.transpose(value, units + [axis for axis in range(len(shape)) if axis not in units]), len(units)


def lift(b: NodeBuilder, value: SSAValue, count: int) -> SSAValue:
    """`value` with `count` more leading dimensions of size 1."""
    one = b.constant(np.ones((1,) * (rank_of(value) + count)), value, "one")
    return b.binary("multiply", value, one)


def with_units(b: NodeBuilder, value: SSAValue, units: int, wanted: int) -> SSAValue:
    """`value`, which begins with `units` dimensions of size 1, with as many as are `wanted`."""
    missing = wanted - units if wanted > units else (units - wanted) % 2
    if missing:
        value, units = lift(b, value, missing), units + missing
    while units > wanted:
        rank = rank_of(value)
        value = b.transpose(value, [*range(2, rank - 1), 0, 1, rank - 1])
        value = b.node(xnnpack.GlobalAveragePooling2dOp, [value])
        units -= 2
    return value


def merge(b: NodeBuilder, value: SSAValue, axis: int) -> SSAValue:
    """Merge `axis` with the one behind it; a dimension of size 1 is left in front."""
    rows = joined(b, [piece(b, value, axis, i, 1) for i in range(b.shape(value)[axis])], axis + 1)
    return b.transpose(rows, [axis, *(other for other in range(rank_of(rows)) if other != axis)])


def split(b: NodeBuilder, value: SSAValue, axis: int, count: int) -> SSAValue:
    """Split `axis` into `count` rows; the first dimension, of size 1, becomes the dimension of rows."""
    size = b.shape(value)[axis] // count
    rows = joined(b, [piece(b, value, axis, i * size, size) for i in range(count)], 0)
    return b.transpose(rows, [*range(1, axis), 0, *range(axis, rank_of(rows))])


def piece(b: NodeBuilder, value: SSAValue, axis: int, start: int, size: int) -> SSAValue:
    """`size` neighbouring elements of a static dimension."""
    shape = b.shape(value)
    taken = [size if other == axis else whole for other, whole in enumerate(shape)]
    offsets = [start if other == axis else 0 for other in range(len(shape))]
    sizes = [0 if isinstance(each, SymbolicSize) else each for each in taken]
    return b.node(xnnpack.StaticSliceOp, [value], {"offsets": u32s(offsets), "sizes": u32s(sizes)})


def joined(b: NodeBuilder, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """Any number of values joined along `axis`, in rounds of as many as a node takes."""
    while len(values) > 1:
        chunks = [values[i : i + MOST_JOINED] for i in range(0, len(values), MOST_JOINED)]
        values = [concatenate(b, chunk, axis) for chunk in chunks]
    return values[0]


def concatenate(b: NodeBuilder, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """One concatenate node, or nothing for a single value."""
    if len(values) == 1:
        return values[0]
    return b.node(xnnpack.ConcatenateOp, values, {"axis": IntegerAttr(axis, i32)})
