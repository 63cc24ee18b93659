"""Pixels side by side that a strided convolution skips over become channels.

XNNPACK's convolutions on 8-bit integers take input channels in groups of 8. An image has three, so that the first
convolution of most networks multiplies mostly padding. Where it has a stride of s along the width, s neighbouring
pixels of one row, which lie side by side in memory anyway, can be one pixel of s times the channels, at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, ints, shape_of, tensor_type, u32s
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.transforms.xnnpack.building.constants import constant_like


@dataclass(frozen=True)
class FoldWidthStridePass(XirPass):
    """Turn pixels that a strided integer convolution skips into channels, where that needs fewer multiplications.

    A convolution of kernel width k, stride s and p pixels of padding on the left becomes one of kernel width ⌈(⌈p /
    s⌉·s - p + k) / s⌉ and stride 1. Added filter pixels have weight zero.

    Before:
    ```mlir
    %1 = xnnpack.conv2d %0, %w {padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 2, 2>}
         : (tensor<1x8x8x3x!q>, tensor<16x3x3x3x!q>) -> tensor<1x4x4x16x!q>
    ```
    After:
    ```mlir
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 1, 8, 4, 6>} : tensor<1x8x8x3x!q> -> tensor<1x8x4x6x!q>
    %2 = xnnpack.conv2d %1, %w' {padding = array<i32: 1, 0, 1, 1>, stride = array<i32: 2, 1>}
         : (tensor<1x8x4x6x!q>, tensor<16x3x2x6x!q>) -> tensor<1x4x4x16x!q>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "rows of six pixels, kernels up to 4, strides 2 and 3, each padding"

    channel_group: int = 8
    """How many input channels XNNPACK multiplies at once: 8 on x86 and on Arm with I8MM, 4 on older Arm."""

    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every convolution that gains."""
        rewrite_patterns(op, [FoldWidthStride(ctx, self.channel_group)])


class FoldWidthStride(RewritePattern):
    """Rewrite one convolution."""

    def __init__(self, ctx: XirContext, channel_group: int):
        self.ctx = ctx
        self.channel_group = channel_group

    def products(self, kernel_width: int, channels: int) -> int:
        """What one row of the kernel multiplies for an output element, padding included."""
        return kernel_width * -(-channels // self.channel_group) * self.channel_group

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.Conv2dOp, rewriter: PatternRewriter, /) -> None:
        """Merge `stride` pixels of a row, if the row divides into such groups and no product is wasted."""
        kernel = element_type(op.filter)
        if not isinstance(kernel, UniformType) or not isinstance(op.filter.owner, xnnpack.ConstantOp):
            return
        batch, height, width, channels = shape_of(op.input)
        step, (top, _, bottom, left) = ints(op.stride)[1], ints(op.padding)
        if step == 1 or ints(op.dilation)[1] != 1 or op.groups.value.data != 1:
            return
        if width == DYNAMIC_INDEX or width % step:
            return
        left_groups = -(-left // step)
        skipped = left_groups * step - left
        kernel_width = -(-(skipped + op.kernel_width) // step)
        right_groups = shape_of(op.output)[2] - 1 + kernel_width - left_groups - width // step
        if right_groups < 0:
            return
        if self.products(kernel_width, channels * step) >= self.products(op.kernel_width, channels):
            return
        convert = op.input.owner if isinstance(element_type(op.input), xnnpack.DynamicType) else None
        padding = (top, right_groups, bottom, left_groups)
        if convert is not None and op.kernel_height == kernel_width == ints(op.stride)[0] == 1 and not any(padding):
            # XNNPACK would quantise the input of a pointwise convolution by pixels instead of images.
            return

        weights = storage_array(op.filter.owner.elements, self.ctx, op.filter.owner)
        missing = (skipped, kernel_width * step - skipped - op.kernel_width)
        weights = np.pad(weights, ((0, 0), (0, 0), missing, (0, 0)))
        weights = weights.reshape(*weights.shape[:2], kernel_width, step * channels)
        merged = (batch, height, width // step, step * channels)
        # What is quantised at run time is given another shape before it is.
        value = convert.input if isinstance(convert, xnnpack.ConvertOp) else op.input
        image = xnnpack.StaticReshapeOp.create(
            operands=[value],
            result_types=[tensor_type(element_type(value), merged)],
            properties={"new_shape": u32s([0 if size == DYNAMIC_INDEX else size for size in merged])},
        )
        constant = constant_like(op.filter.owner, weights, self.ctx)
        properties: dict[str, Attribute] = {
            **op.properties,
            "padding": u32s(padding),
            "stride": u32s((ints(op.stride)[0], 1)),
        }
        made: list[xnnpack.NodeOp] = [image]
        if convert is not None:
            quantized = tensor_type(element_type(op.input), merged)
            made.append(xnnpack.ConvertOp.create(operands=[image.output], result_types=[quantized]))
        operands = [made[-1].results[0], constant.output, *(() if op.bias is None else (op.bias,))]
        node = xnnpack.Conv2dOp.create(operands=operands, result_types=[op.output.type], properties=properties)
        for each in (*made, node):
            inherit(each, op)
        rewriter.replace(op, [*made, constant, node])
