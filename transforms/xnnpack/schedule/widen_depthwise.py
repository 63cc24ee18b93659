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
from xir.ir.remarks import RemarkKind, wanted
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis import node_costs
from xir.transforms.xnnpack.analysis.stays_float import report_float
from xir.transforms.xnnpack.schedule._widening import (
    Times,
    least_gain,
    one_image,
    tell_integers,
    times_of,
    widened,
)

FEWEST_TAPS = 25
"""From this kernel size on, fp32 is faster on x86 where no figures tell."""

REASON = "with this many taps, XNNPACK's x86 kernels take longer on 8-bit integers"


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
                    tell_integers(node, least_gain(times))


def predicted(node: xnnpack.DepthwiseConv2dOp, profile: CostProfile) -> Times | None:
    """What a node on integers takes, of one image where their number is open; None where the profile does not tell."""
    image, result = one_image(node.input), one_image(node.output)
    if DYNAMIC_INDEX in (*image, *result) or not node_costs.is_signed(node.input):
        return None
    taps, is_strided = node.kernel_height * node.kernel_width, ints(node.stride)[1] > 1
    return times_of(node_costs.depthwise(taps, image, result, is_strided), image, result, profile)


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
        if not isinstance(element_type(op.input), UniformType):
            return
        times = self.times(op)
        if not self.is_faster(op, times) or (ops := widened(op, self.ctx)) is None:
            return
        told = least_gain(times) if times else None
        reason, figures = (REASON, {}) if told is None else (str(told), told.figures)
        report_float([op], "widen-depthwise", "{} computes in floating point", reason, self.ctx, figures)
        rewriter.replace(op, ops)

    def is_faster(self, op: xnnpack.DepthwiseConv2dOp, times: Sequence[Times]) -> bool:
        """Whether fp32 is, on each processor: by figures, and where a profile has none by the rule for x86."""
        by_rule = self.cpus.family == "x86" and op.kernel_height * op.kernel_width >= FEWEST_TAPS
        needs_rule = len(times) < max(len(self.cpus.profiles), 1)
        return all(each.gains for each in times) and (by_rule or not needs_rule)
