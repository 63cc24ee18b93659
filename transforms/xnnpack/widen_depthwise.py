"""Depthwise convolutions of many taps leave integers where XNNPACK is faster in fp32.

A depthwise convolution multiplies each number by few others, so it is bound by loading and widening them. XNNPACK's
x86 kernels widen every 8-bit number to 32 bits first. A kernel of 5x5 then takes longer than in fp32 with conversions
before and behind it: with AVX-512, 1.1 to 1.7 times as long. With 3x3 it does not, nor does it on Arm, whose kernels
multiply 8-bit numbers as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of, tensor_type
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.transforms.analysis.static_tensor import dequantised
from xir.transforms.xnnpack._stays_float import report_float

FEWEST_TAPS = 25
"""From this kernel size on, fp32 is faster on x86."""
REASON = "with this many taps, XNNPACK's x86 kernels take longer on 8-bit integers"


@dataclass(frozen=True)
class WidenDepthwisePass(XirPass):
    """Compute depthwise convolutions of 25 and more taps on integers in fp32, where the processor is faster so.

    The numbers are those of the same filter: the quantised one, dequantised.

    Before:
    ```mlir
    %1 = xnnpack.depthwise_conv2d %0, %w {groups = 8 : i32}
         : (tensor<1x9x9x8x!q>, tensor<1x5x5x8x!w>) -> tensor<1x5x5x8x!p>
    ```
    After, with `cpu=x86`:
    ```mlir
    %1 = xnnpack.convert %0 : tensor<1x9x9x8x!q> -> tensor<1x9x9x8xf32>
    %2 = xnnpack.depthwise_conv2d %1, %w' {groups = 8 : i32}
         : (tensor<1x9x9x8xf32>, tensor<1x5x5x8xf32>) -> tensor<1x5x5x8xf32>
    %3 = xnnpack.convert %2 : tensor<1x5x5x8xf32> -> tensor<1x5x5x8x!p>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED

    cpu: Literal["any", "x86"] = "any"
    """The processors that the file is for; nothing changes for `any`."""

    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every such node."""
        if self.cpu == "x86":
            rewrite_patterns(op, [WidenDepthwise(ctx)])


class WidenDepthwise(RewritePattern):
    """Rewrite one node."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.DepthwiseConv2dOp, rewriter: PatternRewriter, /) -> None:
        """Convert before and behind a node whose filter and bias are known."""
        static = (op.filter, *(() if op.bias is None else (op.bias,)))
        if not isinstance(element_type(op.input), UniformType) or op.kernel_height * op.kernel_width < FEWEST_TAPS:
            return
        constants = [self.widened(value) for value in static]
        known = [constant for constant in constants if constant is not None]
        if len(known) < len(constants):
            return
        before = converted(op.input, tensor_type(f32, shape_of(op.input)))
        node = xnnpack.DepthwiseConv2dOp.create(
            operands=[before.output, *(constant.output for constant in known)],
            result_types=[tensor_type(f32, shape_of(op.output))],
            properties=dict(op.properties),
        )
        behind = converted(node.output, op.output.type)
        for each in (before, node, behind):
            inherit(each, op)
        report_float([op], "widen-depthwise", "{} computes in floating point", REASON, self.ctx)
        rewriter.replace(op, [before, *known, node, behind])

    def widened(self, value: SSAValue) -> xnnpack.ConstantOp | None:
        """A quantised constant in fp32; None if `value` is none."""
        element, constant = element_type(value), value.owner
        if not isinstance(constant, xnnpack.ConstantOp) or not isinstance(element, UniformType):
            return None
        numbers = dequantised(storage_array(constant.elements, self.ctx, constant), element)
        made = xnnpack.ConstantOp(make_dense(numbers.astype(np.float32, copy=False), self.ctx, "constant"))
        made.location = constant.location
        return made


def converted(value: SSAValue, result: TensorType) -> xnnpack.ConvertOp:
    """A conversion to another type."""
    return xnnpack.ConvertOp.create(operands=[value], result_types=[result])
