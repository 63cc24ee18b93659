"""A pass: a soft clip of a soft clip is rarely meant; the one with the wider limit goes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.plugin import (
    XirContext,
    XirPass,
    inherit,
    op_rewrite_pattern,
    register_pass,
    register_pipeline,
    rewrite_patterns,
)
from xir_softclip.op import SoftclipOp


class DropWiderClip(RewritePattern):
    """softclip(softclip(x, a), b) → softclip(x, min(a, b)), where the ratio of the limits is at least `ratio`."""

    def __init__(self, ratio: float):
        self.ratio = ratio

    @op_rewrite_pattern
    def match_and_rewrite(self, op: SoftclipOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the second of two clips."""
        inner = op.self.owner
        if not isinstance(inner, SoftclipOp) or not inner.results[0].has_one_use():
            return
        low, high = sorted((inner.limit, op.limit))
        if high < self.ratio * low:
            return
        clip = SoftclipOp(self=inner.self, limit=low)
        inherit(clip, inner, op)
        rewriter.replace(op, clip)


@register_pass
@dataclass(frozen=True)
class DropWiderSoftclipPass(XirPass):
    """Drop the wider of two soft clips in a row.

    Before:
    ```mlir
    %0 = edge.softclip.softclip(%x) {limit = 6.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = edge.softclip.softclip(%0) {limit = 100.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    After:
    ```mlir
    %1 = edge.softclip.softclip(%x) {limit = 6.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    ratio: float = 10.0
    """How much wider the other limit has to be."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every function."""
        rewrite_patterns(op, [DropWiderClip(self.ratio)])


register_pipeline("delegate-softclip", "drop-wider-softclip,delegate")
