"""Ops that move elements, or do nothing."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, static_shape


@decomposition("edge.clone", "edge.alias", "edge.detach", "edge.contiguous", "edge.lift_fresh_copy")
def same_value(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`self`: values are never written to"""
    return op.required("self")


@decomposition("edge.dropout")
def dropout(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`input`: programs are compiled for inference"""
    return op.required("input")


@decomposition("edge._to_copy", "edge.view", "edge.expand", "edge.permute", "edge.repeat")
def unchanged(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`self`, if neither shape nor element type nor order changes"""
    value = op.required("self")
    if value.type != op.results[0].type or any(size < 0 for size in shape_of(value)):
        return None
    moves = op.name == "edge.permute" and any(dim != i for i, dim in enumerate(op.value("dims")))
    return None if moves else value


@decomposition("edge._unsafe_view")
def unsafe_view(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`view(self, size)`"""
    return b.call("view", self=op.required("self"), size=op.value("size"))


@decomposition("edge.squeeze")
def squeeze(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`squeeze(self, [dimensions of size 1])`"""
    value = op.required("self")
    ones = [dim for dim, size in enumerate(shape_of(value)) if size == 1]
    return b.call("squeeze.dims", self=value, dim=ones) if ones else value


@decomposition("edge.roll")
def roll(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`view(roll(view(self, [-1]), shifts, [0]), sizes)` where it names no dimension"""
    value = op.required("self")
    if op.value("dims"):
        return None
    row = b.call("roll", self=b.view(value, (-1,)), shifts=op.value("shifts"), dims=[0])
    return b.view(row, b.sizes(value))


@decomposition("edge.constant_pad_nd")
def cut(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`slice` for each negative number, then `constant_pad_nd` for the others"""
    value, pad = op.required("self"), op.value("pad")
    if any(isinstance(size, SSAValue) for size in pad) or min(pad, default=0) >= 0:
        return None
    for i in range(0, len(pad), 2):
        dim, before, after = -1 - i // 2, min(pad[i], 0), min(pad[i + 1], 0)
        if before or after:
            end = b.size(value, dim) if after == 0 else after
            value = b.call("slice.Tensor", self=value, dim=dim, start=-before, end=end)
    border = [max(size, 0) for size in pad]
    return b.call("constant_pad_nd", self=value, pad=border, value=op.value("value")) if any(border) else value


@decomposition("edge.split.Tensor")
def split(op: edge.EdgeOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """`split_with_sizes(self, sizes, dim)` of a static dimension, because the kernel of `split` cannot resize its
    results"""
    value, dim, size = op.required("self"), op.value("dim"), op.value("split_size")
    total = shape_of(value)[dim]
    if total < 1 or not isinstance(size, int):
        return None
    sizes = [min(size, total - start) for start in range(0, total, size)]
    return b.calls("split_with_sizes", self=value, split_sizes=sizes, dim=dim)


@decomposition("edge.unbind.int")
def unbind(op: edge.EdgeOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """`select(self, dim, i)` for each `i`, if another dimension is dynamic: the kernel of `unbind` cannot resize its
    results"""
    value, dim = op.required("self"), op.value("dim")
    if static_shape(value) is not None:
        return None
    return [b.call("select.int", self=value, dim=dim, index=i) for i in range(len(op.results))]
