"""Blocks of channels to blocks of pixels, and back."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import u32s
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.xnnpack.legalizations.rule import (
    DYNAMIC_PART,
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    Quantized,
    fixed,
    rule,
)

GROUP = 16
"""The most channels of the result that a transposed convolution computes at once: as many as a kernel of XNNPACK does.
More would read zeros for those of the other groups."""


@rule(quantized=Quantized.MOVES, refuses=(DYNAMIC_PART,))
def pixel_shuffle(op: edge.PixelShuffleOp | edge.PixelUnshuffleOp, b: NodeBuilder) -> SSAValue:
    """Move blocks of channels into space, or back: [..., C·r², H, W] ⇔ [..., C, H·r, W·r]."""
    value, result = op.self, b.shape(op.results[0])
    shape = b.shape(value)
    if (op.upscale_factor if isinstance(op, edge.PixelShuffleOp) else op.downscale_factor) == 1:
        return value
    if sum(isinstance(size, SymbolicSize) for size in shape) > 1:
        return by_convolution(op, b)
    if isinstance(op, edge.PixelShuffleOp):
        factor, (height, width) = op.upscale_factor, shape[-2:]
        blocks, perm = (prod(result[:-2]), factor, factor, height, width), (0, 3, 1, 4, 2)
    else:
        factor, (height, width) = op.downscale_factor, result[-2:]
        blocks, perm = (prod(shape[:-2]), height, factor, width, factor), (0, 2, 4, 1, 3)
    return b.reshape(b.transpose(b.reshape(value, blocks), perm), result)


def by_convolution(op: edge.PixelShuffleOp | edge.PixelUnshuffleOp, b: NodeBuilder) -> SSAValue:
    """The same at several open sizes, which no reshape splits or merges: convolutions with a 1 for each element.

    The windows lie side by side. Each channel of a block of pixels is picked by a depthwise filter of its own, and each
    pixel of a block of channels by a transposed one.
    """
    shape = b.shape(op.self)
    image = b.transpose(b.reshape(op.self, (prod(shape[:-3]), *shape[-3:])), NCHW_TO_NHWC)
    if isinstance(op, edge.PixelUnshuffleOp):
        factor, channels = op.downscale_factor, fixed(shape[-3], "channels")
        kind, groups, filters = xnnpack.DepthwiseConv2dOp, channels, unshuffling(channels, factor)
    else:
        factor, channels = op.upscale_factor, fixed(b.shape(op.results[0])[-3], "channels")
        size = max(size for size in range(1, min(channels, GROUP) + 1) if channels % size == 0)
        kind, groups, filters = xnnpack.Deconv2dOp, channels // size, shuffling(channels, size, factor)
    properties = {
        "padding": u32s((0, 0, 0, 0)),
        "stride": u32s((factor, factor)),
        "dilation": u32s((1, 1)),
        "groups": IntegerAttr(groups, i32),
    }
    moved = b.node(kind, [image, b.constant(filters, op.self, "pixels")], {**properties})
    return b.reshape(b.transpose(moved, NHWC_TO_NCHW), b.shape(op.results[0]))


def unshuffling(channels: int, factor: int) -> np.ndarray:
    """Depthwise filters [1, r, r, C·r²]: of each channel those that pick its pixels in turn."""
    return np.tile(np.eye(factor**2, dtype=np.float32).reshape(1, factor, factor, -1), channels)


def shuffling(channels: int, size: int, factor: int) -> np.ndarray:
    """Transposed filters [C, r, r, size·r²] of groups of `size` channels: each picks its own channels of the group."""
    picked = np.eye(size * factor**2, dtype=np.float32).reshape(size, factor, factor, -1)
    return np.tile(picked, (channels // size, 1, 1, 1))
