"""A subgraph at its largest shapes."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from xir.dialects.xnnpack import StaticSliceOp
from xir.dialects.xnnpack.base import ints, u32s


def bound_values(block: Block, bounded: Callable[[SSAValue], TensorType]) -> None:
    """Give the values of a subgraph their largest shapes: a file has no others, and XNNPACK infers the actual ones.

    A slice of the rest of a dimension takes the most that the rest can be; XNNPACK stops at the end.
    """
    for op in block.ops:
        if isinstance(op, StaticSliceOp) and 0 in ints(op.sizes):
            whole = zip(ints(op.sizes), bounded(op.output).get_shape(), strict=True)
            op.properties["sizes"] = u32s([size or rest for size, rest in whole])
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        if isinstance(value.type, TensorType) and not value.type.has_static_shape():
            Rewriter.replace_value_with_new_type(value, bounded(value))
