"""Slices up to the end of a dynamic dimension, at its largest size."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from xir.dialects.xnnpack import StaticSliceOp
from xir.dialects.xnnpack.base import ints, u32s


def bound_slices(block: Block, largest: Mapping[SSAValue, TensorType]) -> None:
    """Give slices up to the end of a dynamic dimension its largest size; XNNPACK stops at the actual one."""
    for op in block.ops:
        if isinstance(op, StaticSliceOp) and 0 in ints(op.sizes):
            whole = zip(ints(op.sizes), largest.get(op.output, op.output.type).get_shape(), strict=True)
            op.properties["sizes"] = u32s([size or rest for size, rest in whole])
