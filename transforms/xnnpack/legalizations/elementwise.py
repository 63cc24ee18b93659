"""Arithmetic. The ops that mean exactly one node come from the table in `dialects/xnnpack/kinds.py`."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.kinds import BINARY, UNARY
from xir.transforms.analysis.calls import call, numbers, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.xnnpack.legalizations.integers_around import integers_around
from xir.transforms.xnnpack.legalizations.rule import (
    NodeBuilder,
    Quantized,
    Rule,
    RuleInfo,
    register_rule,
    rule,
)
from xir.transforms.xnnpack.legalizations.special_functions import (
    argument,
    difference,
    is_power_of_2,
    lifted,
    logarithm,
    returned,
    scaled,
    truncated,
    widened,
)

LARGEST_ANGLE = 1e8
"""Up to here fp32 has the number of periods, 2^24 at most. Its neighbours are 8 apart there, which is more than one:
what rounds such a number may give it any other sine."""

FLOORED_QUOTIENT = Refusal(
    "its quotient is rounded down, which needs a remainder, and XNNPACK computes none",
    "divide by a power of 2, or write torch.floor(x / y) if that is exact enough",
    example=call("edge.div.Scalar_mode", self=tensor(4), other=3, rounding_mode="floor"),
)
NAN_OPERAND = Refusal(
    "one of its operands is NaN, which XNNPACK ignores",
    example=call("edge.maximum", self=tensor(2), other=numbers([1.0, math.nan])),
)

ONE_NODE = "it is exactly one node"
"""Why composites among the ops of `dialects/xnnpack/kinds.py` are overridden."""


def unary_rule(kind: str) -> Rule:
    """The rule of an op that is one unary node."""
    return lambda op, b: b.unary(kind, b.convert(op.operands[0], element_type(op.results[0])))


def binary_rule(kind: str) -> Rule:
    """The rule of an op that is one binary node."""

    def lower(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
        lhs, rhs = (b.meeting(each) for each in op.operands)
        return b.binary(kind, lhs, rhs)

    return lower


for row in UNARY:
    names = [name for name in row.edge if name not in ("edge.log", "edge.sin", "edge.cos")]
    # A number in quantised form is a float: what works on bits has no part in it.
    table = Quantized.TABLE if row.elements != "integer" else None
    for name in names:
        register_rule(name, RuleInfo(unary_rule(row.kind), table, overrides=ONE_NODE))
for row in BINARY:
    names = [name for name in row.edge if name not in ("edge.maximum", "edge.minimum")]
    operands = Quantized.OPERANDS if row.quantized else None
    for name in names:
        register_rule(name, RuleInfo(binary_rule(row.kind), operands, overrides=ONE_NODE))


@rule(refuses=(NAN_OPERAND,))
def extreme(op: edge.MaximumOp | edge.MinimumOp, b: NodeBuilder) -> SSAValue:
    """The larger or the smaller of two. Where one is NaN, ATen's result is; of constants that is known."""
    for value in op.operands:
        if isinstance(value.owner, edge.ConstantOp) and np.isnan(b.numbers(value, "operand")).any():
            raise NAN_OPERAND()
    kind = "maximum" if op.name == "edge.maximum" else "minimum"
    return b.binary(kind, b.promoted(op.self), b.promoted(op.other))


@rule(quantized=Quantized.OPERANDS)
def add(op: edge.AddTensorOp | edge.SubTensorOp, b: NodeBuilder) -> SSAValue:
    """self ± alpha·other."""
    kind = "add" if op.name == "edge.add.Tensor" else "subtract"
    return b.binary(kind, b.promoted(op.self), scaled(b, b.promoted(op.other), op.alpha))


@rule(quantized=Quantized.TABLE)
def add_scalar(op: edge.AddScalarOp | edge.SubScalarOp, b: NodeBuilder) -> SSAValue:
    """Self ± alpha·other, `other` a number."""
    kind = "add" if op.name == "edge.add.Scalar" else "subtract"
    value = b.promoted(op.self)
    return b.binary(kind, value, b.scalar(float(op.other) * float(op.alpha), value))


@rule(quantized=Quantized.TABLE)
def mul_scalar(op: edge.MulScalarOp, b: NodeBuilder) -> SSAValue:
    """Self · other."""
    return scaled(b, b.promoted(op.self), op.other)


@rule(quantized=Quantized.TABLE)
def div_scalar(op: edge.DivScalarOp, b: NodeBuilder) -> SSAValue:
    """self / other, as a true division: multiplying by the inverse would round twice."""
    value = b.promoted(op.self)
    return b.binary("divide", value, b.scalar(float(op.other), value))


@rule(quantized=Quantized.TABLE)
def rsub_scalar(op: edge.RsubScalarOp, b: NodeBuilder) -> SSAValue:
    """Other − alpha·self, `other` a number."""
    value = b.promoted(op.self)
    return b.binary("subtract", b.scalar(float(op.other), value), scaled(b, value, op.alpha))


@rule()
def reciprocal(op: edge.ReciprocalOp, b: NodeBuilder) -> SSAValue:
    """1 / self."""
    value = b.promoted(op.self)
    return b.binary("divide", b.scalar(1.0, value), value)


@rule(refuses=(FLOORED_QUOTIENT,))
def div_mode(op: edge.DivTensorModeOp | edge.DivScalarModeOp, b: NodeBuilder) -> SSAValue:
    """self / other, rounded down, towards zero, or not at all.

    Rounded down, ATen subtracts the remainder before it divides (`c10::div_floor_floating`): 1 // 0.1 is 9, while
    ⌊1 / 0.1⌋ is 10, and −0.5 // ∞ is −1. Both are the same for quotients by a power of 2, which do not round; but those
    of infinities are NaN, as infinities less themselves are.
    """
    result = op.results[0]
    is_number = isinstance(op, edge.DivScalarModeOp)
    if op.rounding_mode is None:
        value = b.promoted(op.self)
        return b.binary("divide", value, b.scalar(float(op.other), value) if is_number else b.meeting(op.other))
    # In halves the quotient would be rounded, to a whole number perhaps, before it is cut off.
    value = argument(b, op.self)
    if op.rounding_mode == "trunc":
        divisor = b.scalar(float(op.other), value) if is_number else widened(b, b.meeting(op.other))
        return b.convert(truncated(b, b.binary("divide", value, divisor)), element_type(result))
    if not is_number or not is_power_of_2(op.other) or abs(op.other) < 1 or element_type(value) != f32:
        raise FLOORED_QUOTIENT()
    whole = b.unary("floor", scaled(b, value, 1 / op.other))
    return b.convert(b.binary("add", whole, difference(b, value, value)), element_type(result))


@rule()
def trunc(op: edge.TruncOp, b: NodeBuilder) -> SSAValue:
    """Self rounded towards zero."""
    return truncated(b, b.promoted(op.self))


@rule(quantized=Quantized.TABLE)
def natural_logarithm(op: edge.LogOp, b: NodeBuilder) -> SSAValue:
    """The logarithm. Between integers, which are finite, it is a node alone, which is a table."""
    if integers_around(op.self, op.results[0], b.ctx) is not None:
        return b.unary("log", op.self)
    return returned(op, b, logarithm(b, b.promoted(op.self)))


@rule()
def other_logarithm(op: edge.Log2Op | edge.Log10Op, b: NodeBuilder) -> SSAValue:
    """The logarithm to base 2 or 10."""
    base = 2 if op.name == "edge.log2" else 10
    return returned(op, b, scaled(b, logarithm(b, b.promoted(op.self)), 1 / math.log(base)))


@rule(quantized=Quantized.TABLE)
def sine(op: edge.SinOp | edge.CosOp, b: NodeBuilder) -> SSAValue:
    """The sine or cosine. Between integers, whose scale bounds the angle, it is a node alone, which is a table."""
    kind = "sine" if op.name == "edge.sin" else "cosine"
    if integers_around(op.self, op.results[0], b.ctx) is not None:
        return b.unary(kind, op.self)
    return wave(b, kind, b.promoted(op.self))


def wave(b: NodeBuilder, kind: str, value: SSAValue) -> SSAValue:
    """A sine or cosine node, kept from numbers where it is none: it gives 1200 for 3e9, and NaN from 1e13 on.

    Its argument ends at `LARGEST_ANGLE`. An infinity less itself makes NaN of that one's result, as eager does.
    """
    if element_type(value) == f16:
        return b.unary(kind, value)
    near = b.clamp(value, -LARGEST_ANGLE, LARGEST_ANGLE)
    return b.binary("add", b.unary(kind, near), difference(b, value, value))


@rule()
def tan(op: edge.TanOp, b: NodeBuilder) -> SSAValue:
    """sin(self) / cos(self)."""
    value = b.promoted(op.self)
    return b.binary("divide", wave(b, "sine", value), wave(b, "cosine", value))


@rule()
def cosh(op: edge.CoshOp, b: NodeBuilder) -> SSAValue:
    """(e^|self| + e^−|self|) / 2, halved before the sum, which then overflows no earlier than the result."""
    magnitude = b.unary("abs", argument(b, op.self))
    rising, falling = (scaled(b, b.unary("exp", each), 0.5) for each in (magnitude, b.unary("negate", magnitude)))
    return returned(op, b, b.binary("add", rising, falling))


@rule()
def sign(op: edge.SignOp, b: NodeBuilder) -> SSAValue:
    """−1, 0 or 1."""
    value = b.promoted(op.self)
    return b.unary("sign", value) if b.has_xir_nodes else lifted(b, value, -1.0, 1.0)


@rule()
def bitwise_scalar(
    op: edge.BitwiseAndScalarOp | edge.BitwiseOrScalarOp | edge.BitwiseXorScalarOp, b: NodeBuilder
) -> SSAValue:
    """The bits of self and of a number, combined."""
    value = b.promoted(op.self)
    kind = op.name.removeprefix("edge.").removesuffix(".Scalar")
    return b.binary(kind, value, b.scalar(float(op.other), value))


@rule()
def clamp_tensor(op: edge.ClampTensorOp, b: NodeBuilder) -> SSAValue:
    """min(max(self, min), max), either bound absent."""
    value = b.promoted(op.self)
    if op.min is not None:
        value = b.binary("maximum", value, b.promoted(op.min))
    return value if op.max is None else b.binary("minimum", value, b.promoted(op.max))
