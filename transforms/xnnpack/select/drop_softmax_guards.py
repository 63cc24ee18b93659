"""`drop-softmax-guards`: a softmax without the test for rows that a mask hides throughout, where there is no mask."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import edge, xnnpack
from xir.dialects.edge.types import shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns

PRODUCT = edge.BmmOp | edge.MatmulOp | edge.MmOp | edge.LinearOp | xnnpack.BatchMatrixMultiplyOp
"""Products of matrices."""
MOVING = (
    edge.ViewOp
    | edge.PermuteOp
    | edge.ExpandOp
    | edge.UnsqueezeOp
    | edge.CloneOp
    | xnnpack.StaticReshapeOp
    | xnnpack.StaticTransposeOp
)
"""Ops that give the elements of their first operand in another shape or order."""


@dataclass(frozen=True)
class DropSoftmaxGuardsPass(XirPass):
    """Remove the choice of zeros for rows of attention scores that are -inf throughout, where no row can be.

    torch decomposes attention to `_safe_softmax`, which gives zeros for a row of scores that a mask hides altogether,
    and ExecuTorch's files have its six ops for each attention, mask or not. XNNPACK has no booleans, so they would
    divide the program into a delegate before them and one behind. Scores that are a product are -inf only if that
    overflows, and a constant mask that is added to them shows whether it hides a row.

    Before:
    ```mlir
    %0 = edge.bmm(%q, %k) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %1 = edge.eq.Scalar(%0) {other = 0xFFF0000000000000 : f64} : (tensor<2x3x5xf32>) -> tensor<2x3x5xi1>
    %2 = edge.logical_not(%1) : (tensor<2x3x5xi1>) -> tensor<2x3x5xi1>
    %3 = edge.any.dim(%2) {dim = -1 : i64, keepdim = true} : (tensor<2x3x5xi1>) -> tensor<2x3x1xi1>
    %4 = edge.logical_not(%3) : (tensor<2x3x1xi1>) -> tensor<2x3x1xi1>
    %5 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    %6 = edge.where.self(%4, %zeros, %5)
           : (tensor<2x3x1xi1>, tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    ```
    After:
    ```mlir
    %0 = edge.bmm(%q, %k) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %5 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "scores of two rows and two keys under each mask"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Drop every such choice."""
        rewrite_patterns(op, [DropGuard(ctx)], graphs=False)


class DropGuard(RewritePattern):
    """One choice between zeros and a softmax."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.WhereSelfOp, rewriter: PatternRewriter) -> None:
        scores = guarded_scores(op.condition)
        if scores is None or op.other.type != op.results[0].type:
            return
        if not is_product(scores) and not self.is_masked_product(scores):
            return
        rewriter.replace(op, [], [op.other])

    def is_masked_product(self, value: SSAValue) -> bool:
        """Whether a value is the sum of a product and a constant that leaves a number in each row."""
        op = source_of(value)
        match op:
            case edge.AddTensorOp():
                terms = (op.self, op.other)
            case xnnpack.BinaryOp() if op.kind.data == "add":
                terms = (op.lhs, op.rhs)
            case _:
                return False
        return any(is_product(terms[i]) and self.shows_each_row(terms[1 - i], shape_of(value)[-1]) for i in (0, 1))

    def shows_each_row(self, mask: SSAValue, length: int) -> bool:
        """Whether a constant has a number other than -inf in each of its rows, which are of this length."""
        op = source_of(mask)
        if not isinstance(op, edge.ConstantOp | xnnpack.ConstantOp):
            return False
        values = constant_array(op.value, self.ctx, op)
        if not values.ndim or values.shape[-1] not in (1, length):
            return False
        return bool((values > -inf).any(axis=-1).all())


def guarded_scores(condition: SSAValue) -> SSAValue | None:
    """What is tested for rows, along the last dimension, that are -inf throughout; None for any other condition."""
    if not isinstance(hidden := condition.owner, edge.LogicalNotOp):
        return None
    if not isinstance(seen := hidden.self.owner, edge.AnyDimOp):
        return None
    if not isinstance(shown := seen.self.owner, edge.LogicalNotOp):
        return None
    if not isinstance(test := shown.self.owner, edge.EqScalarOp) or test.argument("other") != -inf:
        return None
    last = len(shape_of(test.self)) - 1
    return test.self if seen.dim in (-1, last) and seen.keepdim else None


def is_product(value: SSAValue) -> bool:
    """Whether a value is a product of matrices, perhaps in another shape or order."""
    op = source_of(value)
    while isinstance(op, MOVING):
        op = source_of(op.operands[0])
    return isinstance(op, PRODUCT)


def source_of(value: SSAValue) -> Operation | None:
    """The op that computes a value, in a delegate's graph or outside; None for an argument of the function."""
    while True:
        owner = value.owner
        if isinstance(owner, xnnpack.SubgraphOp):
            value = owner.block_outputs[owner.results.index(value)]
        elif isinstance(owner, Operation):
            return owner
        elif isinstance(graph := owner.parent_op(), xnnpack.SubgraphOp):
            value = graph.operands[owner.args.index(value)]
        else:
            return None
