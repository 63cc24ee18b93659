"""Every n-th element of a dimension where several are open, so that no reshape makes rows of n."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import u32s
from xir.ir.symbolic_size import SymbolicSize, floor_div
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END, run

MOST_TAPS = 64
"""The longest window that is tried, of which one element is taken."""


def strided(b: NodeBuilder, value: SSAValue, dim: int, start: int, end: int, step: int) -> SSAValue:
    """Every `step`th element from `start` to `end`: a depthwise convolution with that stride, whose filters are 1.

    Where the last windows are to be left out, they are as long as it takes to find no room at the end, and filters are
    0 but for the first element. XNNPACK fills short filters up with zeros: an infinity makes NaN of its neighbours.
    """
    shape, rank = b.shape(value), len(b.shape(value))
    value = run(b, value, dim, start, shape[dim] - start)
    left, count = shape[dim] - start, floor_div(end - start - 1, step) + 1
    lengths = range(1, MOST_TAPS + 1)
    taps = next((taps for taps in lengths if floor_div(left - taps, step) + 1 == count), None)
    if taps is None:
        raise FROM_DYNAMIC_END()
    # The last dimension would be that of channels, and they have to be known: another one is.
    last = next(
        (axis for axis in reversed(range(rank)) if axis != dim and not isinstance(shape[axis], SymbolicSize)), rank
    )
    order = [*(axis for axis in range(rank) if axis not in (dim, last)), dim, *([last] if last < rank else [])]
    moved = b.transpose(value, order)
    sizes = b.shape(moved)
    place = order.index(dim)
    outer, channels = sizes[:place], prod(sizes[place + 1 :])
    image = b.reshape(moved, (prod(outer[:-1]), outer[-1] if outer else 1, left, channels))
    filters = np.zeros((1, 1, taps, channels), np.float32)
    filters[:, :, 0] = 1.0
    properties = {
        "padding": u32s((0, 0, 0, 0)),
        "stride": u32s((1, step)),
        "dilation": u32s((1, 1)),
        "groups": IntegerAttr(channels, i32),
    }
    taken = b.node(xnnpack.DepthwiseConv2dOp, [image, b.constant(filters, value, "stride")], {**properties})
    taken = b.reshape(taken, (*sizes[:place], count, *sizes[place + 1 :]))
    return b.transpose(taken, [order.index(axis) for axis in range(rank)])
