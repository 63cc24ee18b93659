"""Arithmetic. The ops that mean exactly one node come from the table in `dialects/xnnpack/kinds.py`."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.kinds import BINARY, UNARY
from xir.transforms.xnnpack.legalizations.rule import (
    NodeBuilder,
    Quantized,
    Rule,
    promoted,
    rule,
)
from xir.transforms.xnnpack.legalizations.special_functions import lifted, power_of, scaled, truncated


def unary_rule(kind: str) -> Rule:
    """The rule of an op that is one unary node."""
    return lambda op, b: b.unary(kind, b.convert(op.operands[0], element_type(op.results[0])))


def binary_rule(kind: str) -> Rule:
    """The rule of an op that is one binary node."""

    def lower(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
        lhs, rhs = (b.convert(each, element_type(op.results[0])) for each in op.operands)
        return b.binary(kind, lhs, rhs)

    return lower


for row in UNARY:
    # A number in quantised form is a float: what works on bits has no part in it.
    rule(*row.edge, quantized=Quantized.TABLE if row.elements != "integer" else None)(unary_rule(row.kind))
for row in BINARY:
    rule(*row.edge, quantized=Quantized.OPERANDS if row.quantized else None)(binary_rule(row.kind))


@rule("edge.add.Tensor", "edge.sub.Tensor", quantized=Quantized.OPERANDS)
def add(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self ± alpha·other."""
    kind = "add" if op.name == "edge.add.Tensor" else "subtract"
    return b.binary(kind, promoted(op, b, "self"), scaled(b, promoted(op, b, "other"), op.value("alpha")))


@rule("edge.add.Scalar", "edge.sub.Scalar", quantized=Quantized.TABLE)
def add_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self ± alpha·other, `other` a number."""
    kind = "add" if op.name == "edge.add.Scalar" else "subtract"
    value = promoted(op, b, "self")
    return b.binary(kind, value, b.scalar(float(op.value("other")) * float(op.value("alpha")), value))


@rule("edge.mul.Scalar", quantized=Quantized.TABLE)
def mul_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self · other."""
    return scaled(b, promoted(op, b, "self"), op.value("other"))


@rule("edge.div.Scalar", quantized=Quantized.TABLE)
def div_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self / other, as a true division: multiplying by the inverse would round twice."""
    value = promoted(op, b, "self")
    return b.binary("divide", value, b.scalar(float(op.value("other")), value))


@rule("edge.rsub.Scalar", quantized=Quantized.TABLE)
def rsub_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Other − alpha·self, `other` a number."""
    value = promoted(op, b, "self")
    return b.binary("subtract", b.scalar(float(op.value("other")), value), scaled(b, value, op.value("alpha")))


@rule("edge.reciprocal")
def reciprocal(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """1 / self."""
    value = promoted(op, b, "self")
    return b.binary("divide", b.scalar(1.0, value), value)


@rule("edge.div.Tensor_mode", "edge.div.Scalar_mode")
def div_mode(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self / other, rounded down or towards zero."""
    value = promoted(op, b, "self")
    is_number = op.name == "edge.div.Scalar_mode"
    divisor = b.scalar(float(op.value("other")), value) if is_number else promoted(op, b, "other")
    quotient = b.binary("divide", value, divisor)
    mode = op.value("rounding_mode")
    if mode is None:
        return quotient
    return b.unary("floor", quotient) if mode == "floor" else truncated(b, quotient)


@rule("edge.trunc")
def trunc(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self rounded towards zero."""
    return truncated(b, promoted(op, b, "self"))


@rule("edge.exp2")
def exp2(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """2 to the power self."""
    return power_of(b, 2, promoted(op, b, "self"))


@rule("edge.log2", "edge.log10")
def other_logarithm(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """The logarithm to base 2 or 10."""
    base = 2 if op.name == "edge.log2" else 10
    return scaled(b, b.unary("log", promoted(op, b, "self")), 1 / math.log(base))


@rule("edge.tan")
def tan(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """sin(self) / cos(self)."""
    value = promoted(op, b, "self")
    return b.binary("divide", b.unary("sine", value), b.unary("cosine", value))


@rule("edge.cosh")
def cosh(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """(e^|self| + e^−|self|) / 2, halved before the sum, which then overflows no earlier than the result."""
    magnitude = b.unary("abs", promoted(op, b, "self"))
    rising, falling = (scaled(b, b.unary("exp", each), 0.5) for each in (magnitude, b.unary("negate", magnitude)))
    return b.binary("add", rising, falling)


@rule("edge.sign")
def sign(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """−1, 0 or 1."""
    value = promoted(op, b, "self")
    return b.unary("sign", value) if b.target == "xir" else lifted(b, value, -1.0, 1.0)


@rule("edge.bitwise_and.Scalar", "edge.bitwise_or.Scalar", "edge.bitwise_xor.Scalar")
def bitwise_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """The bits of self and of a number, combined."""
    value = promoted(op, b, "self")
    kind = op.name.removeprefix("edge.").removesuffix(".Scalar")
    return b.binary(kind, value, b.scalar(float(op.value("other")), value))


@rule("edge.clamp.Tensor")
def clamp_tensor(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """min(max(self, min), max), either bound absent."""
    value = promoted(op, b, "self")
    if op.tensor("min") is not None:
        value = b.binary("maximum", value, promoted(op, b, "min"))
    return value if op.tensor("max") is None else b.binary("minimum", value, promoted(op, b, "max"))


@rule("edge.dropout", quantized=Quantized.MOVES)
def dropout(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Nothing: a program for inference drops nothing out."""
    return op.operands[0]


@rule("edge.clone", "edge.contiguous", "edge.alias", "edge.detach", "edge.lift_fresh_copy", quantized=Quantized.MOVES)
def same(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Nothing: values have no identity in the IR, and the compiler chooses layouts."""
    return op.operands[0]
