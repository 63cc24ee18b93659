"""Arithmetic. The ops that mean exactly one node come from the table in `dialects/xnnpack/kinds.py`."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.kinds import BINARY, UNARY
from xir.transforms.legalizations.rule import (
    NodeBuilder,
    Quantized,
    RefusalError,
    Rule,
    promoted,
    rule,
)

MAX_POWER = 16
"""The largest whole power that is multiplied out; each squaring rounds once more."""


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
    rule(*row.edge, quantized=Quantized.TABLE)(unary_rule(row.kind))
for row in BINARY:
    rule(*row.edge, quantized=Quantized.OPERANDS if row.quantized else None)(binary_rule(row.kind))


def scaled(b: NodeBuilder, value: SSAValue, factor: float) -> SSAValue:
    """`value` times a number."""
    return value if factor == 1 else b.binary("multiply", value, b.scalar(float(factor), value))


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


def truncated(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """max(floor(value), min(ceil(value), 0)): the floor where it is positive, else the ceiling."""
    towards_zero = b.clamp(b.unary("ceiling", value), None, 0.0)
    return b.binary("maximum", b.unary("floor", value), towards_zero)


@rule("edge.pow.Tensor_Scalar")
def pow_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self to a power: roots, and whole numbers by repeated squaring."""
    value, exponent = promoted(op, b, "self"), float(op.value("exponent"))
    if exponent == 0.5:
        return b.unary("square_root", value)
    if exponent == -0.5:
        return b.unary("reciprocal_square_root", value)
    if exponent == 0 or not exponent.is_integer() or abs(exponent) > MAX_POWER:
        raise RefusalError(f"the power {exponent:g} is neither a square root nor a whole number up to {MAX_POWER}")
    power = whole_power(b, value, int(abs(exponent)))
    return power if exponent > 0 else b.binary("divide", b.scalar(1.0, value), power)


def whole_power(b: NodeBuilder, value: SSAValue, exponent: int) -> SSAValue:
    """`value` to a positive whole power, by squaring."""
    if exponent == 1:
        return value
    half = b.unary("square", whole_power(b, value, exponent // 2))
    return half if exponent % 2 == 0 else b.binary("multiply", half, value)


@rule("edge.pow.Scalar")
def scalar_pow(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """A positive number to the power `exponent`: e^(exponent·log(number))."""
    base = float(op.value("self"))
    if base <= 0:
        raise RefusalError(f"its base {base:g} has no logarithm")
    return power_of(b, base, promoted(op, b, "exponent"))


def power_of(b: NodeBuilder, base: float, exponent: SSAValue) -> SSAValue:
    """e^(exponent·log(base)), in fp32: an error of the product is one of the result, as many times as it is large."""
    power = b.unary("exp", scaled(b, b.convert(exponent, f32), math.log(base)))
    return b.convert(power, element_type(exponent))


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
    """−1, 0 or 1: two multiplications by a power of 2, each clamped to [−1, 1], lift even the smallest number to 1.

    That is, unless the processor takes denormal numbers for zero, as some runtimes tell it to.
    """
    value = promoted(op, b, "self")
    large = 2.0**15 if element_type(value) == f16 else 2.0**127
    for _ in range(2):
        value = b.binary("multiply", value, b.scalar(large, value), -1.0, 1.0)
    return value


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
    """Nothing: values have no identity here, and layout is the compiler's business."""
    return op.operands[0]
