"""Ops that move elements, or do nothing."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, static_shape, static_sizes


@decomposition
def same_value(
    op: edge.CloneOp | edge.AliasOp | edge.DetachOp | edge.ContiguousOp | edge.LiftFreshCopyOp, b: EdgeBuilder
) -> SSAValue:
    """`self`: values are never written to"""
    return op.self


@decomposition
def dropout(op: edge.DropoutOp, b: EdgeBuilder) -> SSAValue:
    """`input`: programs are compiled for inference"""
    return op.input


@decomposition
def unchanged(
    op: edge.ToCopyOp | edge.ViewOp | edge.ExpandOp | edge.PermuteOp | edge.RepeatOp, b: EdgeBuilder
) -> SSAValue | None:
    """`self`, if neither shape nor element type nor order changes"""
    value = op.self
    if value.type != op.results[0].type or any(size < 0 for size in shape_of(value)):
        return None
    moves = isinstance(op, edge.PermuteOp) and any(dim != i for i, dim in enumerate(op.dims))
    return None if moves else value


@decomposition
def unsafe_view(op: edge.UnsafeViewOp, b: EdgeBuilder) -> SSAValue:
    """`view(self, size)`"""
    return b.call(edge.ViewOp, self=op.self, size=op.size)


@decomposition
def squeeze(op: edge.SqueezeOp, b: EdgeBuilder) -> SSAValue:
    """`squeeze(self, [dimensions of size 1])`"""
    value = op.self
    ones = [dim for dim, size in enumerate(shape_of(value)) if size == 1]
    return b.call(edge.SqueezeDimsOp, self=value, dim=ones) if ones else value


@decomposition
def roll(op: edge.RollOp, b: EdgeBuilder) -> SSAValue | None:
    """`view(roll(view(self, [-1]), shifts, [0]), sizes)` where it names no dimension"""
    value = op.self
    if op.dims:
        return None
    row = b.call(edge.RollOp, self=b.view(value, (-1,)), shifts=op.shifts, dims=[0])
    return b.view(row, b.sizes(value))


@decomposition
def cut(op: edge.ConstantPadNdOp, b: EdgeBuilder) -> SSAValue | None:
    """`slice` for each negative number, then `constant_pad_nd` for the others"""
    value, pad = op.self, static_sizes(op.pad)
    if pad is None or min(pad, default=0) >= 0:
        return None
    for i in range(0, len(pad), 2):
        dim, before, after = -1 - i // 2, min(pad[i], 0), min(pad[i + 1], 0)
        if before or after:
            end = b.size(value, dim) if after == 0 else after
            value = b.call(edge.SliceTensorOp, self=value, dim=dim, start=-before, end=end)
    border = [max(size, 0) for size in pad]
    return b.call(edge.ConstantPadNdOp, self=value, pad=border, value=op.value) if any(border) else value


@decomposition
def split(op: edge.SplitTensorOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """`split_with_sizes(self, sizes, dim)` of a static dimension, because the kernel of `split` cannot resize its
    results"""
    value, dim, size = op.self, op.dim, op.split_size
    total = shape_of(value)[dim]
    if total < 1 or not isinstance(size, int):
        return None
    sizes = [min(size, total - start) for start in range(0, total, size)]
    return b.calls(edge.SplitWithSizesOp, self=value, split_sizes=sizes, dim=dim)


@decomposition
def unbind(op: edge.UnbindIntOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """`select(self, dim, i)` for each `i`, if another dimension is dynamic: the kernel of `unbind` cannot resize its
    results"""
    value, dim = op.self, op.dim
    if static_shape(value) is not None:
        return None
    return [b.call(edge.SelectIntOp, self=value, dim=dim, index=i) for i in range(len(op.results))]
