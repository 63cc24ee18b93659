"""Depthwise convolutions leave integers and fp16 where XNNPACK is faster in fp32.

A depthwise convolution multiplies each number by few others, so it is bound by loading and widening them. XNNPACK's
x86 kernels widen every 8-bit number to 32 bits first. A kernel of 5x5 then takes longer than in fp32 with conversions
before and behind it: up to 1.7 times as long with AVX-512, 1.5 times with AVX2. With 3x3 that depends on the size,
of which a cost profile tells. On Arm kernels multiply 8-bit numbers as they are.

In fp16, its x86 kernels round each sum to fp16 behind each tap, so every tap waits for two conversions: on an Intel
Xeon that takes six times as long as a tap in fp32. Only Arm has kernels of fp16 arithmetic (`src/f16-dwconv` of XNNPACK
at commit 92a7ad501b).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.cost.processors import Processors, processors
from xir.cost.profile import CostProfile
from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, ints
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import RemarkKind, passed, wanted
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis import node_costs
from xir.transforms.xnnpack.analysis.stays_float import name_of, report_float
from xir.transforms.xnnpack.schedule._widening import (
    Narrow,
    Times,
    least_gain,
    one_image,
    tell_narrow,
    times_of,
    widened,
)

FEWEST_TAPS = 25
"""From this kernel size on, fp32 is faster on x86 where no figures tell."""

REASONS: Mapping[Narrow, str] = {
    "int8": "with this many taps, XNNPACK's x86 kernels take longer on 8-bit integers",
    "fp16": "XNNPACK's x86 kernels round to fp16 behind each tap, which takes longer",
}
"""Why fp32 is faster where no figures tell."""


@dataclass(frozen=True)
class WidenDepthwisePass(XirPass):
    """Compute depthwise convolutions on integers or fp16 in fp32, where that is faster.

    The filter is the quantised one, dequantised. Cost profiles with such kernels predict where this is faster, if the
    sizes are known; otherwise it applies on x86: on integers from 25 taps on, in fp16 always. With several profiles, it
    has to be faster by each.

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

    threads: int = 0
    """How many threads share each node by the profiles; 0 counts as one."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        processors(self.cpu, self.threads)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every such node."""
        cpus = processors(self.cpu, self.threads)
        if cpus.family != "x86" and not cpus.profiles:
            return
        widen = WidenDepthwise(ctx, cpus)
        rewrite_patterns(op, [widen])
        if cpus.profiles and wanted(RemarkKind.MISSED):
            for node in ops_in(op, xnnpack.DepthwiseConv2dOp):
                times = widen.times(node)
                if times and not widen.is_faster(node, times):
                    tell_narrow(node, least_gain(times))


def numbers_of(node: xnnpack.DepthwiseConv2dOp) -> Narrow | None:
    """What a node computes with; None for fp32 and bf16."""
    if isinstance(element_type(node.input), UniformType):
        return "int8"
    return "fp16" if node_costs.is_half(node) else None


def predicted(node: xnnpack.DepthwiseConv2dOp, profile: CostProfile) -> Times | None:
    """What such a node takes, of one image where their number is open; None where the profile does not tell."""
    image, result, numbers = one_image(node.input), one_image(node.output), numbers_of(node)
    is_known = numbers == "fp16" or (numbers == "int8" and node_costs.is_signed(node.input))
    if numbers is None or not is_known or DYNAMIC_INDEX in (*image, *result):
        return None
    taps, is_strided = node.kernel_height * node.kernel_width, ints(node.stride)[1] > 1
    return times_of(node_costs.depthwise(taps, image, result, is_strided), image, result, profile, numbers)


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
        numbers = numbers_of(op)
        if numbers is None:
            return
        times = self.times(op)
        if not self.is_faster(op, times) or (ops := widened(op, self.ctx)) is None:
            return
        told = least_gain(times) if times else None
        reason, figures = (REASONS[numbers], {}) if told is None else (str(told), told.figures)
        if numbers == "int8":
            report_float([op], WidenDepthwisePass.name, "{} computes in floating point", reason, self.ctx, figures)
        else:
            passed(op, "widened", f"{name_of(op)} computes in fp32: {reason}", figures=figures)
        rewriter.replace(op, ops)

    def is_faster(self, op: xnnpack.DepthwiseConv2dOp, times: Sequence[Times]) -> bool:
        """Whether fp32 is, on each processor: by figures, and where a profile has none by the rule for x86."""
        taps = op.kernel_height * op.kernel_width
        by_rule = self.cpus.family == "x86" and (numbers_of(op) == "fp16" or taps >= FEWEST_TAPS)
        needs_rule = len(times) < max(len(self.cpus.profiles), 1)
        return all(each.gains for each in times) and (by_rule or not needs_rule)
