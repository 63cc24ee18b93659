"""`fill-hidden-rows`: no softmax of rows that are -inf throughout, where a mask hides their results too."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns

LOWEST: dict[Attribute, float] = {f32: -3.4028234663852886e38, f16: -65504.0, bf16: -3.3895313892515355e38}
"""Element type -> its least number."""


@dataclass(frozen=True)
class FillHiddenRowsPass(XirPass):
    """Hide scores by the least number instead of -inf, where a mask hides the softmax of whole hidden rows again.

    The softmax of a row of -inf is NaN, and programs replace it by zeros afterwards. XNNPACK replaces by the smaller
    and the larger of two numbers, and processors differ in those of NaN. With the least number such a row is 1/n, and
    all other rows are as before: the exponential of what is hidden is 0 in both.

    Before:
    ```mlir
    %0 = edge.masked_fill.Scalar(%x, %mask) {value = 0xFFF0000000000000 : f64}
           : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
    %1 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = edge.masked_fill.Scalar(%1, %mask) {value = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
    ```
    After, if `%mask` is a constant:
    ```mlir
    %0 = edge.masked_fill.Scalar(%x, %mask) {value = -3.4028234663852886e+38 : f64}
           : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "two rows and two keys, hidden in whole or in part, before a softmax and behind it"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every softmax of hidden scores."""
        rewrite_patterns(op, [FillHiddenRows(ctx)], graphs=False)


class FillHiddenRows(RewritePattern):
    """One softmax along the last dimension."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.SoftmaxOp, rewriter: PatternRewriter) -> None:
        scores = op.self.owner
        lowest = LOWEST.get(element_of(op.results[0]))
        if lowest is None or not isinstance(scores, edge.MaskedFillScalarOp) or scores.argument("value") != -inf:
            return
        if op.dim not in (-1, len(shape_of(op.self)) - 1) or element_of(op.self) != element_of(op.results[0]):
            return
        hidden = self.rows(scores.mask, op.self)
        if hidden is None or not hidden.any() or not self.are_hidden_again(op, hidden):
            return
        filled = edge.MaskedFillScalarOp(self=scores.self, mask=scores.mask, value=lowest, location=scores.location)
        made = edge.SoftmaxOp(self=filled.results[0], dim=op.dim, half_to_float=op.half_to_float, location=op.location)
        rewriter.replace(op, [filled, made], [made.results[0]])

    def are_hidden_again(self, op: edge.SoftmaxOp, hidden: np.ndarray) -> bool:
        """Whether all that reads the softmax replaces what it is in these rows."""
        readers = [use.operation for use in op.results[0].uses]
        for reader in readers:
            if not isinstance(reader, edge.MaskedFillScalarOp) or reader.self is not op.results[0]:
                return False
            replaced = self.rows(reader.mask, op.results[0])
            if replaced is None or (hidden & ~replaced).any():
                return False
        return bool(readers)

    def rows(self, mask: SSAValue, like: SSAValue) -> np.ndarray | None:
        """Which rows of a tensor a constant mask covers throughout; None for another mask."""
        if not isinstance(op := mask.owner, edge.ConstantOp):
            return None
        try:
            covered = np.broadcast_to(constant_array(op.value, self.ctx, op), shape_of(like))
        except ValueError:
            return None
        return np.asarray(covered.all(axis=-1))
