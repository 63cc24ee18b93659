"""Element-wise ops and activations."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition


@decomposition("edge.add.Scalar", "edge.sub.Scalar", "edge.rsub.Scalar")
def float_and_integers(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """the same on `self` as the result's type, where a number changes the type"""
    value, result = op.required("self"), op.results[0]
    if element_of(value) == element_of(result):
        return None
    numbers = {name: op.value(name) for name in op.schema.values}
    return b.call(op.name.removeprefix("edge."), self=b.convert(value, result), **numbers)


@decomposition("edge.add.Tensor")
def scaled_addend(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`self + other * alpha`, if there is an alpha and `self` is broadcast"""
    value, other, alpha = op.required("self"), op.required("other"), op.value("alpha")
    # ExecuTorch 1.5.1's kernel scales self instead where that has one element (kernels/optimized/cpu/op_add.cpp).
    if alpha == 1 or shape_of(value) == shape_of(op.results[0]):
        return None
    return b.call("add.Tensor", self=value, other=b.call("mul.Scalar", self=other, other=alpha))


@decomposition("edge.exp2")
def exp2(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`pow(2, self)`"""
    return b.call("pow.Scalar", self=2.0, exponent=b.convert(op.required("self"), op.results[0]))


@decomposition("edge.square")
def square(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`self * self`"""
    value = op.required("self")
    return b.call("mul.Tensor", self=value, other=value)


@decomposition("edge.hardsigmoid")
def hardsigmoid(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`hardtanh(self + 3, 0, 6) / 6`"""
    return b.call("mul.Scalar", self=_shifted_relu6(op.required("self"), b), other=1 / 6)


@decomposition("edge.hardswish")
def hardswish(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`self * hardtanh(self + 3, 0, 6) / 6`"""
    value = op.required("self")
    product = b.call("mul.Tensor", self=value, other=_shifted_relu6(value, b))
    return b.call("mul.Scalar", self=product, other=1 / 6)


def _shifted_relu6(value: SSAValue, b: EdgeBuilder) -> SSAValue:
    return b.call("hardtanh", self=b.call("add.Scalar", self=value, other=3), min_val=0, max_val=6)


@decomposition("edge.silu")
def silu(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`self * sigmoid(self)`"""
    value = op.required("self")
    return b.call("mul.Tensor", self=value, other=b.call("sigmoid", self=value))


@decomposition("edge.softplus")
def softplus(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`log1p(exp(self * beta)) / beta`, and `self` itself where `self * beta > threshold`"""
    return _softplus(op.required("self"), b, op.value("beta"), op.value("threshold"))


@decomposition("edge.mish")
def mish(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`self * tanh(softplus(self))`"""
    value = op.required("self")
    return b.call("mul.Tensor", self=value, other=b.call("tanh", self=_softplus(value, b, 1, 20)))


def _softplus(value: SSAValue, b: EdgeBuilder, beta: float, threshold: float) -> SSAValue:
    scaled = value if beta == 1 else b.call("mul.Scalar", self=value, other=beta)
    curve = b.call("log1p", self=b.call("exp", self=scaled))
    if beta != 1:
        curve = b.call("mul.Scalar", self=curve, other=1 / beta)
    straight = b.call("gt.Scalar", self=scaled, other=threshold)
    return b.call("where.self", condition=straight, self=value, other=curve)


@decomposition("edge.prelu")
def prelu(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`self` where it is positive, else `self * weight`, with the weight along dimension 1"""
    value, weight = op.required("self"), op.required("weight")
    rank = len(shape_of(value))
    if math.prod(shape_of(weight)) == 1:
        weight = b.view(weight, ())
    elif rank > 2:
        weight = b.view(weight, (*shape_of(weight), *(1,) * (rank - 2)))
    positive = b.call("gt.Scalar", self=value, other=0)
    return b.call("where.self", condition=positive, self=value, other=b.call("mul.Tensor", self=value, other=weight))


@decomposition("edge.copysign.Tensor")
def copysign(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`where(other < 0 or 1 / other < 0, -abs(self), abs(self))`, whose second condition finds −0"""
    other, result = op.required("other"), op.results[0]
    magnitude = b.convert(b.call("abs", self=op.required("self")), result)
    below = b.call("lt.Scalar", self=other, other=0)
    minus_zero = b.call("lt.Scalar", self=b.call("reciprocal", self=other), other=0)
    negative = b.call("logical_or", self=below, other=minus_zero)
    return b.call("where.self", condition=negative, self=b.call("neg", self=magnitude), other=magnitude)


@decomposition("edge.masked_fill.Tensor")
def masked_fill(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`where(mask, value, self)`"""
    value = op.required("self")
    filler = b.convert(op.required("value"), value)
    return b.call("where.self", condition=op.required("mask"), self=filler, other=value)


@decomposition("edge.triu")
def triu(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`self`, filled with 0 where `tril(ones, diagonal - 1)`"""
    value, diagonal = op.required("self"), op.value("diagonal")
    if not isinstance(diagonal, int):
        diagonal = b.call("executorch_prim.sub.Scalar", a=diagonal, b=1)
    else:
        diagonal -= 1
    ones = b.call("full", size=b.sizes(value)[-2:], fill_value=True)
    below = b.call("tril", self=ones, diagonal=diagonal)
    return b.call("masked_fill.Scalar", self=value, mask=below, value=0)
