"""A subgraph at its largest shapes."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from xir.backend.interface import bound_values
from xir.dialects.xnnpack import StaticSliceOp
from xir.dialects.xnnpack.base import ints, u32s


def bound_nodes(block: Block, bounded: Callable[[SSAValue], TensorType]) -> None:
    """Give the values of a subgraph their largest shapes; XNNPACK infers the actual ones.

    A slice of the rest of a dimension takes the most that the rest can be; XNNPACK stops at the end.
    """
    for op in block.ops:
        if isinstance(op, StaticSliceOp) and 0 in ints(op.sizes):
            whole = zip(ints(op.sizes), bounded(op.output).get_shape(), strict=True)
            op.properties["sizes"] = u32s([size or rest for size, rest in whole])
    bound_values(block, bounded)
