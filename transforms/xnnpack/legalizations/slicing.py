"""Parts of a tensor, and borders around it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import rank_of, u32s
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder, fp32

FROM_DYNAMIC_END = Refusal(
    "it counts from the end of a dynamic dimension",
    example=call("edge.slice.Tensor", self=tensor("?", 4), dim=0, start=0, end=-1),
)


def box(b: NodeBuilder, value: SSAValue, offsets: Sequence[int], sizes: Sequence[int]) -> SSAValue:
    """A slice node, or nothing where the box is the whole value."""
    shape = b.shape(value)
    if tuple(sizes) == shape:
        return value
    for dim, offset, size in zip(shape, offsets, sizes, strict=True):
        is_rest = isinstance(size, SymbolicSize) and offset + size == dim
        if isinstance(offset, SymbolicSize) or (isinstance(size, SymbolicSize) and not is_rest):
            raise FROM_DYNAMIC_END()
    taken = u32s([0 if isinstance(size, SymbolicSize) else size for size in sizes])
    return b.node(xnnpack.StaticSliceOp, [value], {"offsets": u32s(offsets), "sizes": taken})


def run(b: NodeBuilder, value: SSAValue, dim: int, start: int, size: int) -> SSAValue:
    """`size` neighbouring elements of one dimension."""
    offsets, sizes = [0] * rank_of(value), list(b.shape(value))
    offsets[dim], sizes[dim] = start, size
    return box(b, value, offsets, sizes)


def pad_with(b: NodeBuilder, value: SSAValue, before: Sequence[int], after: Sequence[int], number: float) -> SSAValue:
    """`value` with copies of `number` around it: so many before and after in each dimension."""
    if not any(before) and not any(after):
        return value
    properties = {"pre_paddings": u32s(before), "post_paddings": u32s(after), "padding_value": fp32(number)}
    return b.node(xnnpack.StaticConstantPadOp, [value], {**properties})
