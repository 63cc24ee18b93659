"""The last elements of an open dimension: a slice node counts from its beginning alone."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from xir.dialects.xnnpack.base import FLOATS, element_type, rank_of
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.xnnpack.legalizations.dynamic_sizes import copies_of
from xir.transforms.xnnpack.legalizations.reduction import max_over
from xir.transforms.xnnpack.legalizations.reshaping import joined
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder
from xir.transforms.xnnpack.legalizations.slicing import pad_with, run

MOST_LAST = 8
"""The most elements that are taken one by one: each reads the whole dimension."""


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
