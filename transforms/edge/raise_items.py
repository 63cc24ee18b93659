"""`raise-items`: arithmetic with a number that is read of a tensor becomes arithmetic with that tensor."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import edge
from xir.dialects.edge.types import element_of, is_float, shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns

TakesNumber = (
    edge.AddScalarOp
    | edge.SubScalarOp
    | edge.RsubScalarOp
    | edge.MulScalarOp
    | edge.DivScalarOp
    | edge.MaskedFillScalarOp
    | edge.ScalarTensorOp
    | edge.FullOp
)
"""Ops on a number that have a form on a tensor without dimensions."""


@dataclass(frozen=True)
class RaiseItemsPass(XirPass):
    """Compute with a one-element tensor instead of the number that is read from it.

    `x * scale.item()` needs a kernel to read the number at run time, and another for the product. As a product of two
    tensors it is part of a delegate, as is the computation of the scale. This applies if the tensor and the result have
    the same floating-point type, so that both forms round alike.

    Before:
    ```mlir
    %0 = edge._local_scalar_dense(%scale) : (tensor<1xf32>) -> f64
    %1 = edge.mul.Scalar(%x)[%0] {other} : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
    ```
    After:
    ```mlir
    %0 = edge.view(%scale) {size = array<i64>} : (tensor<1xf32>) -> tensor<f32>
    %1 = edge.mul.Tensor(%x, %0) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "sums, differences, products and quotients with a tensor of one element"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every op that takes such a number."""
        rewrite_patterns(op, [RaiseItem()], graphs=False)


class RaiseItem(RewritePattern):
    """One op that takes a number."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: TakesNumber, rewriter: PatternRewriter) -> None:
        source = item_source(number_of(op))
        if source is None or element_of(source) != element_of(op.results[0]):
            return
        item = source
        ops: list[edge.EdgeOp] = []
        if shape_of(source):
            ops.append(edge.ViewOp(self=source, size=()))
            item = ops[-1].results[0]
        made = with_tensor(op, item)
        if made is not None:
            ops.append(made)
        rewriter.replace(op, ops, [made.results[0] if made is not None else item])


def number_of(op: TakesNumber) -> object:
    """The number that an op takes."""
    match op:
        case edge.MaskedFillScalarOp():
            return op.argument("value")
        case edge.ScalarTensorOp():
            return op.argument("s")
        case edge.FullOp():
            return op.argument("fill_value")
        case _:
            return op.argument("other")


def item_source(number: object) -> SSAValue | None:
    """The floating-point tensor of one element that a number is read of; None for any other number."""
    if not isinstance(number, SSAValue) or not isinstance(read := number.owner, edge.LocalScalarDenseOp):
        return None
    source = read.self
    return source if is_float(element_of(source)) and prod(shape_of(source)) == 1 else None


def with_tensor(op: TakesNumber, item: SSAValue) -> edge.EdgeOp | None:
    """The op on a tensor without dimensions; None where it is that tensor."""
    match op:
        case edge.AddScalarOp():
            return edge.AddTensorOp(self=op.self, other=item, alpha=op.argument("alpha"))
        case edge.SubScalarOp():
            return edge.SubTensorOp(self=op.self, other=item, alpha=op.argument("alpha"))
        case edge.RsubScalarOp():
            return edge.SubTensorOp(self=item, other=op.self, alpha=op.argument("alpha"))
        case edge.MulScalarOp():
            return edge.MulTensorOp(self=op.self, other=item)
        case edge.DivScalarOp():
            return edge.DivTensorOp(self=op.self, other=item)
        case edge.MaskedFillScalarOp():
            return edge.MaskedFillTensorOp(self=op.self, mask=op.mask, value=item)
        case edge.FullOp():
            return edge.ExpandOp(self=item, size=op.size)
        case edge.ScalarTensorOp():
            return None
