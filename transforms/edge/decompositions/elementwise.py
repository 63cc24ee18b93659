"""Element-wise ops and activations."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, in_opmath


@decomposition
def float_and_integers(op: edge.AddScalarOp | edge.SubScalarOp | edge.RsubScalarOp, b: EdgeBuilder) -> SSAValue | None:
    """the same on `self` as the result's type, where a number changes the type"""
    value, result = op.self, op.results[0]
    if element_of(value) == element_of(result):
        return None
    return b.call(type(op), self=b.convert(value, result), other=op.other, alpha=op.alpha)


@decomposition
@in_opmath
def scaled_addend(op: edge.AddTensorOp, b: EdgeBuilder) -> SSAValue | None:
    """`self + other * alpha`, if there is an alpha and `self` is broadcast"""
    value, other, alpha = op.self, op.other, op.alpha
    # ExecuTorch 1.5.1's kernel scales self instead where that has one element (kernels/optimized/cpu/op_add.cpp).
    if alpha == 1 or shape_of(value) == shape_of(op.results[0]):
        return None
    return b.call(edge.AddTensorOp, self=value, other=b.call(edge.MulScalarOp, self=other, other=alpha))


@decomposition
@in_opmath
def exp2(op: edge.Exp2Op, b: EdgeBuilder) -> SSAValue:
    """`pow(2, self)`"""
    return b.call(edge.PowScalarOp, self=2.0, exponent=b.convert(op.self, op.results[0]))


@decomposition
def square(op: edge.SquareOp, b: EdgeBuilder) -> SSAValue:
    """`self * self`"""
    value = op.self
    return b.call(edge.MulTensorOp, self=value, other=value)


@decomposition
@in_opmath
def hardsigmoid(op: edge.HardsigmoidOp, b: EdgeBuilder) -> SSAValue:
    """`hardtanh(self + 3, 0, 6) / 6`"""
    return b.call(edge.MulScalarOp, self=_shifted_relu6(op.self, b), other=1 / 6)


@decomposition
@in_opmath
def hardswish(op: edge.HardswishOp, b: EdgeBuilder) -> SSAValue:
    """`self * hardtanh(self + 3, 0, 6) / 6`"""
    value = op.self
    product = b.call(edge.MulTensorOp, self=value, other=_shifted_relu6(value, b))
    return b.call(edge.MulScalarOp, self=product, other=1 / 6)


def _shifted_relu6(value: SSAValue, b: EdgeBuilder) -> SSAValue:
    return b.call(edge.HardtanhOp, self=b.call(edge.AddScalarOp, self=value, other=3), min_val=0, max_val=6)


@decomposition
@in_opmath
def silu(op: edge.SiluOp, b: EdgeBuilder) -> SSAValue:
    """`self * sigmoid(self)`"""
    return b.call(edge.MulTensorOp, self=op.self, other=b.call(edge.SigmoidOp, self=op.self))


@decomposition
@in_opmath
def softplus(op: edge.SoftplusOp, b: EdgeBuilder) -> SSAValue:
    """`log1p(exp(self * beta)) / beta`, and `self` itself where `self * beta > threshold`"""
    return _softplus(op.self, b, op.beta, op.threshold)


@decomposition
@in_opmath
def mish(op: edge.MishOp, b: EdgeBuilder) -> SSAValue:
    """`self * tanh(softplus(self))`"""
    value = op.self
    return b.call(edge.MulTensorOp, self=value, other=b.call(edge.TanhOp, self=_softplus(value, b, 1, 20)))


def _softplus(value: SSAValue, b: EdgeBuilder, beta: float, threshold: float) -> SSAValue:
    scaled = value if beta == 1 else b.call(edge.MulScalarOp, self=value, other=beta)
    curve = b.call(edge.Log1pOp, self=b.call(edge.ExpOp, self=scaled))
    if beta != 1:
        curve = b.call(edge.DivScalarOp, self=curve, other=beta)
    straight = b.call(edge.GtScalarOp, self=scaled, other=threshold)
    return b.call(edge.WhereSelfOp, condition=straight, self=value, other=curve)


@decomposition
def prelu(op: edge.PreluOp, b: EdgeBuilder) -> SSAValue:
    """`self` where it is positive, else `self * weight`, with the weight along dimension 1"""
    value, weight = op.self, op.weight
    rank = len(shape_of(value))
    if math.prod(shape_of(weight)) == 1:
        weight = b.view(weight, ())
    elif rank > 2:
        weight = b.view(weight, (*shape_of(weight), *(1,) * (rank - 2)))
    positive = b.call(edge.GtScalarOp, self=value, other=0)
    return b.call(
        edge.WhereSelfOp, condition=positive, self=value, other=b.call(edge.MulTensorOp, self=value, other=weight)
    )


@decomposition
def copysign(op: edge.CopysignTensorOp, b: EdgeBuilder) -> SSAValue:
    """`where(other < 0 or 1 / other < 0, -abs(self), abs(self))`, whose second condition finds −0"""
    other, result = op.other, op.results[0]
    magnitude = b.convert(b.call(edge.AbsOp, self=op.self), result)
    below = b.call(edge.LtScalarOp, self=other, other=0)
    minus_zero = b.call(edge.LtScalarOp, self=b.call(edge.ReciprocalOp, self=other), other=0)
    negative = b.call(edge.LogicalOrOp, self=below, other=minus_zero)
    return b.call(edge.WhereSelfOp, condition=negative, self=b.call(edge.NegOp, self=magnitude), other=magnitude)


@decomposition
def masked_fill(op: edge.MaskedFillTensorOp, b: EdgeBuilder) -> SSAValue:
    """`where(mask, value, self)`"""
    value = op.self
    filler = b.convert(op.value, value)
    return b.call(edge.WhereSelfOp, condition=op.mask, self=filler, other=value)


@decomposition
def triu(op: edge.TriuOp, b: EdgeBuilder) -> SSAValue:
    """`transpose(tril(transpose(self), -diagonal))`"""
    diagonal = op.diagonal
    if isinstance(diagonal, int):
        diagonal = -diagonal
    else:
        diagonal = b.call(edge.ExecutorchPrimSubScalarOp, a=0, b=diagonal)
    mirrored = b.call(edge.TrilOp, self=b.call(edge.TransposeIntOp, self=op.self, dim0=-2, dim1=-1), diagonal=diagonal)
    return b.call(edge.TransposeIntOp, self=mirrored, dim0=-2, dim1=-1)
