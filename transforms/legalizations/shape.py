"""Ops that move data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, f32, i32
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import rank_of, shape_of, u32s
from xir.transforms.legalizations.rule import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    RefusalError,
    operand,
    rule,
    static_shape,
)

MAX_CONCATENATE = 5
"""The most tensors that one node joins."""


@rule(
    "edge.view",
    "edge._unsafe_view",
    "edge.squeeze.dim",
    "edge.squeeze.dims",
    "edge.unsqueeze",
)
def view(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """The same elements in another shape, which the result's type gives."""
    static_shape(op.operands[0], "input")
    return b.reshape(op.operands[0], static_shape(op.results[0], "result"))


@rule("edge.expand")
def expand(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Repeat dimensions of size 1; stock ExecuTorch has no broadcast, so a product with ones spreads the value."""
    value, shape = operand(op, "self"), static_shape(op.results[0], "result")
    before = (1,) * (len(shape) - rank_of(value)) + static_shape(value, "input")
    aligned = b.reshape(value, before)
    if before == shape:
        return aligned
    spread = [size if size != old else 1 for size, old in zip(shape, before, strict=True)]
    return b.binary("multiply", aligned, b.constant(np.ones(spread, dtype=np.float32), "ones"))


@rule("edge.permute")
def permute(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Permute dimensions."""
    value = operand(op, "self")
    return b.transpose(value, [d % rank_of(value) for d in op.value("dims")])


@rule("edge.transpose.int")
def transpose(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Exchange two dimensions."""
    value = operand(op, "self")
    return b.transpose(value, exchanged(rank_of(value), op.value("dim0"), op.value("dim1")))


@rule("edge.t")
def t(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """A matrix's transpose."""
    value = operand(op, "self")
    return b.transpose(value, exchanged(rank_of(value), 0, -1)) if rank_of(value) == 2 else value


def exchanged(rank: int, first: int, second: int) -> list[int]:
    """The permutation that exchanges two dimensions."""
    perm = list(range(rank))
    perm[first], perm[second] = perm[second], perm[first]
    return perm


@rule("edge.cat")
def cat(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Join tensors along `dim`; more than one node joins are joined in rounds."""
    values = [value for value in op.tensors("tensors") if value is not None and shape_of(value) != (0,)]
    if not values:
        raise RefusalError("it joins nothing")
    axis = op.value("dim") % rank_of(values[0])
    while len(values) > 1:
        chunks = [values[i : i + MAX_CONCATENATE] for i in range(0, len(values), MAX_CONCATENATE)]
        values = [concatenate(b, chunk, axis) for chunk in chunks]
    return values[0]


def concatenate(b: NodeBuilder, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """One concatenate node, or nothing for a single value."""
    if len(values) == 1:
        return values[0]
    shape = list(shape_of(values[0]))
    shape[axis] = sum(static_shape(value, "input")[axis] for value in values)
    return b.node(xnnpack.ConcatenateOp, values, shape, {"axis": IntegerAttr(axis, i32)})


@rule("edge.slice.Tensor")
def slice_(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Elements `start` to `end` of one dimension."""
    value = operand(op, "self")
    shape, dim = static_shape(value, "input"), op.value("dim") % rank_of(value)
    start, end = op.value("start") or 0, op.value("end")
    if op.value("step") != 1:
        raise RefusalError(f"it takes every {op.value('step')}th element; XNNPACK slices whole runs")
    start = clamp_index(start, shape[dim])
    end = shape[dim] if end is None else clamp_index(end, shape[dim])
    if end <= start:
        raise RefusalError("its result is empty")
    offsets, sizes = [0] * len(shape), list(shape)
    offsets[dim], sizes[dim] = start, end - start
    return box(b, value, offsets, sizes)


@rule("edge.select.int")
def select(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """One index of one dimension, which goes away."""
    value = operand(op, "self")
    shape, dim = static_shape(value, "input"), op.value("dim") % rank_of(value)
    offsets, sizes = [0] * len(shape), list(shape)
    offsets[dim], sizes[dim] = op.value("index") % shape[dim], 1
    return b.reshape(box(b, value, offsets, sizes), (*shape[:dim], *shape[dim + 1 :]))


def clamp_index(index: int, size: int) -> int:
    """An index as Python's slices read it: negative from the end, cut to the dimension."""
    return min(max(index + size if index < 0 else index, 0), size)


def box(b: NodeBuilder, value: SSAValue, offsets: Sequence[int], sizes: Sequence[int]) -> SSAValue:
    """A slice node, or nothing where the box is the whole value."""
    if tuple(sizes) == shape_of(value):
        return value
    return b.node(xnnpack.StaticSliceOp, [value], sizes, {"offsets": u32s(offsets), "sizes": u32s(sizes)})


@rule("edge.constant_pad_nd")
def constant_pad_nd(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Surround with a constant; ATen lists (before, after) from the last dimension on. Negative padding cuts."""
    value, pad = operand(op, "self"), op.value("pad")
    shape = static_shape(value, "input")
    before, after = [0] * len(shape), [0] * len(shape)
    for i in range(len(pad) // 2):
        before[-1 - i], after[-1 - i] = pad[2 * i], pad[2 * i + 1]
    offsets = [max(-p, 0) for p in before]
    sizes = [d + min(p, 0) + min(q, 0) for d, p, q in zip(shape, before, after, strict=True)]
    if min(sizes, default=1) < 1:
        raise RefusalError("its result is empty")
    inner = box(b, value, offsets, sizes)
    before, after = [max(p, 0) for p in before], [max(p, 0) for p in after]
    if not any(before) and not any(after):
        return inner
    padded = [d + p + q for d, p, q in zip(sizes, before, after, strict=True)]
    return b.node(
        xnnpack.StaticConstantPadOp,
        [inner],
        padded,
        {
            "pre_paddings": u32s(before),
            "post_paddings": u32s(after),
            "padding_value": FloatAttr(float(op.value("value")), f32),
        },
    )


@rule("edge.upsample_bilinear2d.vec", "edge.upsample_bilinear2d")
def upsample_bilinear2d(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Resize an image by bilinear interpolation."""
    batch, channels, height, width = static_shape(op.results[0], "result")
    properties = {"new_height": IntegerAttr(height, i32), "new_width": IntegerAttr(width, i32)}
    if op.value("align_corners"):
        properties["align_corners"] = UnitAttr()  # pyright: ignore[reportArgumentType]
    image = b.transpose(op.operands[0], NCHW_TO_NHWC)
    result = b.node(xnnpack.StaticResizeBilinear2dOp, [image], (batch, height, width, channels), {**properties})
    return b.transpose(result, NHWC_TO_NCHW)
