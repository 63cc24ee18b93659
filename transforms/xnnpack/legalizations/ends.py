"""Elements that are counted from an open end: a slice node counts from the beginning alone."""

from __future__ import annotations

import math
from math import prod

from xdsl.ir import SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import FLOATS, element_type, rank_of, u32s
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.xnnpack.legalizations.dynamic_sizes import copies_of
from xir.transforms.xnnpack.legalizations.reduction import as_rows, max_over
from xir.transforms.xnnpack.legalizations.reshaping import joined
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder
from xir.transforms.xnnpack.legalizations.slicing import pad_with, run

MOST_LAST = 8
"""The most elements that are taken one by one: each reads the whole dimension."""

MOST_CUT = 1 << 20
"""The most elements, at the largest sizes, of what is cut off before its end: that takes as long at all sizes."""


def counted_from_end(b: NodeBuilder, value: SSAValue, dim: int, start: int, count: int) -> SSAValue | None:
    """`count` elements from `start` on, if that is a number of elements before an open end; None for any others."""
    size = b.shape(value)[dim]
    before = size - start
    if not isinstance(start, SymbolicSize) or isinstance(before, SymbolicSize) or isinstance(count, SymbolicSize):
        return None
    if not 0 < count <= MOST_LAST or element_type(value) not in FLOATS:
        return None
    assert isinstance(size, SymbolicSize)
    return joined(b, [element_before_end(b, value, dim, size, before - i) for i in range(count)], dim)


def element_before_end(b: NodeBuilder, value: SSAValue, dim: int, size: SymbolicSize, before: int) -> SSAValue:
    """The element `before` places before the end: the largest, once −∞ is added to all others.

    Behind −∞ as often as there are elements stand a 0 and the −∞ that it is before the end: the last `size` of these.
    """
    hidden = copies_of(b, -math.inf, size, element_type(value))
    hidden = pad_with(b, pad_with(b, hidden, (0, 0), (1, 0), 0.0), (0, 0), (before - 1, 0), -math.inf)
    shown = b.reshape(run(b, hidden, 0, before, size), [size if d == dim else 1 for d in range(rank_of(value))])
    return max_over(b, b.binary("add", value, shown), [dim], keepdim=True)


def up_to_end(b: NodeBuilder, value: SSAValue, dim: int, start: int, size: int) -> SSAValue | None:
    """`size` elements from `start` on, up to a number of elements before an open end; None for any others.

    Behind the elements stand as many of −∞ as there are at most. Each window of two elements that are so far apart, and
    the number before the end further, has one of the elements and one of −∞, and a later one would end outside. XNNPACK
    has no empty result of a pooling. Where sizes of 2, the least that torch exports for, may leave nothing, windows of
    −∞ come first, and a slice cuts them off.
    """
    whole = b.shape(value)[dim]
    before = whole - start - size
    if isinstance(start, SymbolicSize) or not isinstance(size, SymbolicSize) or isinstance(before, SymbolicSize):
        return None
    if before < 1 or element_type(value) not in FLOATS:
        return None
    limits = [b.sizes.limit(each) for each in b.shape(value)]
    known = [limit for limit in limits if limit is not None]
    if len(known) < len(limits) or prod(known) > MOST_CUT:
        return None
    value = run(b, value, dim, start, whole - start)
    image, perm = as_rows(b, value, dim)
    axis = perm.index(dim) if len(perm) == 4 else 1
    hidden = max(known[dim] - start - before, 1)
    first = start + before if start + before > 1 else 0
    in_front, behind = ([width if each == axis else 0 for each in range(4)] for width in (first, hidden))
    padded = pad_with(b, image, in_front, behind, -math.inf)
    window = {"kernel": 2, "dilation": hidden + before}
    properties = {name: u32s((each, 1) if axis == 1 else (1, each)) for name, each in window.items()}
    kept = b.node(xnnpack.MaxPooling2dOp, [padded], {**properties})
    if first:
        kept = run(b, kept, axis, first, size)
    shape = [size if each == dim else other for each, other in enumerate(b.shape(value))]
    moved = b.reshape(kept, [shape[each] for each in perm])
    return b.transpose(moved, [perm.index(each) for each in range(len(perm))])
