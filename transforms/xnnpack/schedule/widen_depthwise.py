"""Depthwise convolutions leave integers where XNNPACK is faster in fp32.

A depthwise convolution multiplies each number by few others, so it is bound by loading and widening them. XNNPACK's
x86 kernels widen every 8-bit number to 32 bits first. A kernel of 5x5 then takes longer than in fp32 with conversions
before and behind it: up to 1.7 times as long with AVX-512, 1.5 times with AVX2. With 3x3 that depends on the size,
of which a cost profile tells. On Arm kernels multiply 8-bit numbers as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.cost.profile import CostProfile, named_profile
from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, ints, shape_of, tensor_type
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.remarks import Figure, RemarkKind, missed, wanted
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.ir.walking import ops_in
from xir.transforms.analysis.static_tensor import dequantised
from xir.transforms.xnnpack.analysis import node_costs
from xir.transforms.xnnpack.analysis.stays_float import name_of, report_float

FEWEST_TAPS = 25
"""From this kernel size on, fp32 is faster on x86 where no figures tell."""

LEAST_GAIN = 0.1
"""The share of the time that fp32 must save by figures: predictions are not closer than that."""

REASON = "with this many taps, XNNPACK's x86 kernels take longer on 8-bit integers"


@dataclass(frozen=True)
class Times:
    """What a node takes, in microseconds."""

    integers: float
    floats: float
    """With the conversions before and behind it."""

    def __str__(self) -> str:
        return f"int8 {self.integers:.1f} µs, fp32 with conversions {self.floats:.1f} µs"

    @property
    def figures(self) -> dict[str, Figure]:
        """For a remark."""
        return {"IntegerMicroseconds": round(self.integers, 1), "Microseconds": round(self.floats, 1)}


@dataclass(frozen=True)
class WidenDepthwisePass(XirPass):
    """Compute integer depthwise convolutions in fp32, where that is faster.

    The filter is the quantised one, dequantised. A cost profile with integer kernels predicts where this is faster, if
    the sizes are known; otherwise it applies on x86 from 25 taps on.

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

    cpu: str = "any"
    """The processors that the file is for: `x86`, or those of a cost profile; nothing changes for `any`."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        named_profile(self.cpu)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every such node."""
        profile = named_profile(self.cpu)
        is_x86 = (self.cpu if profile is None else profile.family) == "x86"
        if profile is None and not is_x86:
            return
        widen = WidenDepthwise(ctx, profile, is_x86)
        rewrite_patterns(op, [widen])
        if profile is not None and wanted(RemarkKind.MISSED):
            for node in ops_in(op, xnnpack.DepthwiseConv2dOp):
                times = predicted(node, profile)
                if times is not None and not widen.is_faster(node, times):
                    text = f"{name_of(node)} computes on integers"
                    reason = f"{times}, which has to be {100 * LEAST_GAIN:.0f} % less"
                    missed(node, "stays-integer", text, reason, figures=times.figures)


def predicted(node: xnnpack.DepthwiseConv2dOp, profile: CostProfile) -> Times | None:
    """What a node on integers takes, of one image where their number is open; None where the profile does not tell."""
    image, result = ((max(batch, 1), *rest) for batch, *rest in map(shape_of, (node.input, node.output)))
    if DYNAMIC_INDEX in (*image, *result) or not node_costs.is_signed(node.input):
        return None
    taps, is_strided = node.kernel_height * node.kernel_width, ints(node.stride)[1] > 1
    floats = node_costs.depthwise(taps, image, result, is_strided)
    integers = node_costs.on_integers(floats)
    widened = (node_costs.converted(image), floats, node_costs.converted(result))
    if integers is None or not all(map(profile.knows, (integers, *widened))):
        return None
    return Times(profile.nanoseconds(integers) / 1e3, sum(map(profile.nanoseconds, widened)) / 1e3)


class WidenDepthwise(RewritePattern):
    """Rewrite one node."""

    def __init__(self, ctx: XirContext, profile: CostProfile | None, is_x86: bool):
        self.ctx = ctx
        self.profile = profile
        self.is_x86 = is_x86

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.DepthwiseConv2dOp, rewriter: PatternRewriter, /) -> None:
        """Convert before and behind a node whose filter and bias are known."""
        static = (op.filter, *(() if op.bias is None else (op.bias,)))
        if not isinstance(element_type(op.input), UniformType):
            return
        times = None if self.profile is None else predicted(op, self.profile)
        if not self.is_faster(op, times):
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
        reason, figures = (REASON, {}) if times is None else (str(times), times.figures)
        report_float([op], "widen-depthwise", "{} computes in floating point", reason, self.ctx, figures)
        rewriter.replace(op, [before, *known, node, behind])

    def is_faster(self, op: xnnpack.DepthwiseConv2dOp, times: Times | None) -> bool:
        """Whether fp32 is, by figures or by the rule for the processor."""
        if times is not None:
            return times.floats <= (1 - LEAST_GAIN) * times.integers
        return self.is_x86 and op.kernel_height * op.kernel_width >= FEWEST_TAPS

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
