"""Depthwise convolutions leave integers where XNNPACK is faster in fp32.

A depthwise convolution multiplies each number by few others, so it is bound by loading and widening them. XNNPACK's
x86 kernels widen every 8-bit number to 32 bits first. A kernel of 5x5 then takes longer than in fp32 with conversions
before and behind it: up to 1.7 times as long with AVX-512, 1.5 times with AVX2. With 3x3 that depends on the size,
of which a cost profile tells. On Arm kernels multiply 8-bit numbers as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.cost.processors import Processors, caveat, least_gain, processors
from xir.cost.profile import CostProfile
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
from xir.transforms.analysis.static_tensor import dequantized
from xir.transforms.xnnpack.analysis import node_costs
from xir.transforms.xnnpack.analysis.stays_float import name_of, report_float

FEWEST_TAPS = 25
"""From this kernel size on, fp32 is faster on x86 where no figures tell."""

LEAST_GAIN = 0.1
"""The share of the time that fp32 must save by figures that were measured: predictions are not closer than that."""

REASON = "with this many taps, XNNPACK's x86 kernels take longer on 8-bit integers"


@dataclass(frozen=True)
class Times:
    """What a node takes, in microseconds."""

    integers: float
    floats: float
    """With the conversions before and behind it."""
    least: float
    """The share of the time that fp32 must save."""

    @property
    def is_faster(self) -> bool:
        """Whether fp32 saves that."""
        return self.floats <= (1 - self.least) * self.integers

    def __str__(self) -> str:
        return f"int8 {self.integers:.1f} µs, fp32 with conversions {self.floats:.1f} µs"

    @property
    def figures(self) -> dict[str, Figure]:
        """For a remark."""
        return {"IntegerMicroseconds": round(self.integers, 1), "Microseconds": round(self.floats, 1)}


@dataclass(frozen=True)
class WidenDepthwisePass(XirPass):
    """Compute integer depthwise convolutions in fp32, where that is faster.

    The filter is the quantised one, dequantised. Cost profiles with integer kernels predict where this is faster, if
    the sizes are known; otherwise it applies on x86 from 25 taps on. With several profiles, it has to be faster by
    each.

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
    proved: ClassVar[str] = "filters of 25 taps with scales by channel, bias and bounds, where scales are powers of 2"

    cpu: str = "any"
    """The processors that the file is for: `x86`, `generic`, `native`, or those of a cost profile; nothing changes for
    `any`."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        processors(self.cpu)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every such node."""
        cpus = processors(self.cpu)
        if cpus.family != "x86" and not cpus.profiles:
            return
        widen = WidenDepthwise(ctx, cpus)
        rewrite_patterns(op, [widen])
        if cpus.profiles and wanted(RemarkKind.MISSED):
            for node in ops_in(op, xnnpack.DepthwiseConv2dOp):
                times = widen.times(node)
                if times and not widen.is_faster(node, times):
                    slowest = slowest_of(times)
                    text = f"{name_of(node)} computes on integers"
                    reason = f"{slowest}, which has to be {100 * slowest.least:.0f} % less"
                    missed(node, "stays-integer", text, reason, figures=slowest.figures)


def slowest_of(times: Sequence[Times]) -> Times:
    """Those of the processor that gains the least of what it has to."""
    return max(times, key=lambda each: each.floats / each.integers / (1 - each.least))


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
    times = (profile.nanoseconds(integers) / 1e3, sum(map(profile.nanoseconds, widened)) / 1e3)
    return Times(*times, least_gain(profile, LEAST_GAIN))


class WidenDepthwise(RewritePattern):
    """Rewrite one node."""

    def __init__(self, ctx: XirContext, cpus: Processors):
        self.ctx = ctx
        self.cpus = cpus

    def times(self, op: xnnpack.DepthwiseConv2dOp) -> list[Times]:
        """What a node takes on each processor whose profile tells."""
        return [times for profile in self.cpus.profiles if (times := predicted(op, profile)) is not None]

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.DepthwiseConv2dOp, rewriter: PatternRewriter, /) -> None:
        """Convert before and behind a node whose filter and bias are known."""
        static = (op.filter, *(() if op.bias is None else (op.bias,)))
        if not isinstance(element_type(op.input), UniformType):
            return
        times = self.times(op)
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
        told = slowest_of(times) if times else None
        said = f"{told}{caveat(self.cpus.profiles)}"
        reason, figures = (REASON, {}) if told is None else (said, told.figures)
        report_float([op], "widen-depthwise", "{} computes in floating point", reason, self.ctx, figures)
        rewriter.replace(op, [before, *known, node, behind])

    def is_faster(self, op: xnnpack.DepthwiseConv2dOp, times: Sequence[Times]) -> bool:
        """Whether fp32 is, on each processor: by figures, and where a profile has none by the rule for x86."""
        by_rule = self.cpus.family == "x86" and op.kernel_height * op.kernel_width >= FEWEST_TAPS
        needs_rule = len(times) < max(len(self.cpus.profiles), 1)
        return all(each.is_faster for each in times) and (by_rule or not needs_rule)

    def widened(self, value: SSAValue) -> xnnpack.ConstantOp | None:
        """A quantised constant in fp32; None if `value` is none."""
        element, constant = element_type(value), value.owner
        if not isinstance(constant, xnnpack.ConstantOp) or not isinstance(element, UniformType):
            return None
        numbers = dequantized(storage_array(constant.elements, self.ctx, constant), element)
        made = xnnpack.ConstantOp(make_dense(numbers.astype(np.float32, copy=False), self.ctx, "constant"))
        made.location = constant.location
        return made


def converted(value: SSAValue, result: TensorType) -> xnnpack.ConvertOp:
    """A conversion to another type."""
    return xnnpack.ConvertOp.create(operands=[value], result_types=[result])
