"""Activations."""

from __future__ import annotations

import math
from math import prod

from xdsl.dialects.builtin import f16, f32, i8
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, rank_of
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import is_static, range_of
from xir.transforms.xnnpack.legalizations.integers_around import integers_around
from xir.transforms.xnnpack.legalizations.rule import (
    NodeBuilder,
    Quantized,
    fp32,
    in_fp32,
    is_as_exact_in_fp16,
    rule,
)
from xir.transforms.xnnpack.legalizations.special_functions import (
    argument,
    elu_of,
    exponential_less_one,
    is_positive,
    logarithm_of_one_plus,
    plus,
    returned,
    scaled,
    widened,
)

LARGEST_EXPONENT = 80.0
"""e^x is an fp32 number for x up to this."""
BELOW_ONE = UniformType.per_tensor(i8, f32, 1 / 256, -128)
"""Integers for numbers from 0 to 1."""

INVISIBLE_THRESHOLD = 17.0
"""log(1 + e^x) is x for all fp32 numbers from here on."""


NEGATIVE_THRESHOLD = Refusal(
    "its threshold {threshold:g} cuts off negative numbers", example=call("edge.softplus", self=tensor(8), threshold=-1)
)


NAN_BOUND = Refusal("one of its bounds is NaN", example=call("edge.clamp", self=tensor(4), min=math.nan))
NOT_FINITE = Refusal(
    "its {what} {value:g} is not finite", example=call("edge.leaky_relu", self=tensor(4), negative_slope=math.inf)
)


@rule(quantized=Quantized.TABLE)
def relu(op: edge.ReluOp, b: NodeBuilder) -> SSAValue:
    """max(self, 0)."""
    return b.clamp(op.self, 0.0, None)


@rule(quantized=Quantized.TABLE, refuses=(NAN_BOUND,))
def hardtanh(op: edge.HardtanhOp, b: NodeBuilder) -> SSAValue:
    """clamp(self, min_val, max_val)."""
    return checked_clamp(b, op.self, op.min_val, op.max_val)


@rule(quantized=Quantized.TABLE, refuses=(NAN_BOUND,))
def clamp(op: edge.ClampOp, b: NodeBuilder) -> SSAValue:
    """clamp(self, min, max), either bound absent."""
    return checked_clamp(b, op.self, op.min, op.max)


def checked_clamp(b: NodeBuilder, value: SSAValue, low: float | None, high: float | None) -> SSAValue:
    """A clamp node; without an interval between the bounds, which XNNPACK wants, what ATen does step by step."""
    low = -math.inf if low is None else in_fp32(low)
    high = math.inf if high is None else in_fp32(high)
    if math.isnan(low) or math.isnan(high):
        raise NAN_BOUND()
    if low < high:
        return b.clamp(value, low, high)
    return b.binary("minimum", b.binary("maximum", value, b.scalar(low, value)), b.scalar(high, value))


GELU_FORMS_DIFFER = 4.8e-4
"""The largest difference between PyTorch's two forms of GELU."""
MANY = 16
"""How many times larger than the difference of the forms a step must be, for rounding to hide the difference."""


@rule(quantized=Quantized.TABLE)
def gelu(op: edge.GeluOp, b: NodeBuilder) -> SSAValue:
    """GELU in both of PyTorch's forms.

    Where both are quantised with steps much larger than the difference of the two forms, one look-up table serves both.
    """
    value = op.self
    if op.approximate == "none":
        return b.unary("gelu", value)
    if b.has_xir_nodes:
        return b.unary("approxgelu", value)
    around = integers_around(value, op.results[0], b.ctx)
    if around is not None and around[1].scale > MANY * GELU_FORMS_DIFFER:
        return b.unary("gelu", value)
    # 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), with x³ + … factored to x·(1 + 0.044715·x²). In fp32: where tanh is
    # near -1, the sum keeps few digits of a half.
    value = widened(b, value)
    inner = b.binary("add", scaled(b, b.unary("square", value), 0.044715), b.scalar(1.0, value))
    argument = b.binary("multiply", scaled(b, value, math.sqrt(2.0 / math.pi)), inner)
    gate = b.binary("add", b.unary("tanh", argument), b.scalar(1.0, value))
    return returned(op, b, b.binary("multiply", scaled(b, value, 0.5), gate))


@rule(quantized=Quantized.TABLE, refuses=(NOT_FINITE,))
def elu(op: edge.EluOp, b: NodeBuilder) -> SSAValue:
    """scale · (self where positive, else alpha·(e^(input_scale·self) − 1)).

    XNNPACK has this for a positive alpha and without the scale of the input. In general it is the sum of both sides.
    """
    value = op.self
    alpha, scale, input_scale = (finite_parameter("factor", each) for each in (op.alpha, op.scale, op.input_scale))
    if element_type(value) == f16 and not is_as_exact_in_fp16(alpha):
        value = widened(b, value)  # whose node would round the factor
    if alpha > 0 and input_scale == 1:
        return returned(op, b, scaled(b, elu_of(b, value, alpha), scale))
    below = scaled(b, b.clamp(value, None, 0.0), input_scale)
    falling = elu_of(b, below, 1.0) if input_scale > 0 else exponential_less_one(b, below)
    above = scaled(b, b.clamp(value, 0.0, None), scale)
    return returned(op, b, b.binary("add", above, scaled(b, falling, alpha * scale)))


def finite_parameter(what: str, value: float) -> float:
    """A number in fp32; RefusalError for infinities and NaN, which ATen multiplies by zeros where nodes do not."""
    number = in_fp32(value)
    if not math.isfinite(number):
        raise NOT_FINITE(what=what, value=number)
    return number


@rule(quantized=Quantized.TABLE, refuses=(NOT_FINITE,))
def leaky_relu(op: edge.LeakyReluOp, b: NodeBuilder) -> SSAValue:
    """Self where positive, else negative_slope·self."""
    slope, value = finite_parameter("slope", op.negative_slope), op.self
    if element_type(value) == f16 and not is_as_exact_in_fp16(slope):
        value = widened(b, value)  # whose node would round the slope
    return returned(op, b, b.node(xnnpack.LeakyReluOp, [value], {"negative_slope": fp32(slope)}))


@rule(overrides="it is one node, where a choice by sign would need booleans")
def prelu(op: edge.PreluOp, b: NodeBuilder) -> SSAValue:
    """Self where positive, else weight·self; one weight for all, or one for each channel (dimension 1)."""
    value, weight = op.self, op.weight
    count = prod(b.shape(weight))
    shape = (count, *(1 for _ in range(rank_of(value) - 2))) if count > 1 else ()
    if not is_static(weight):
        return b.binary("prelu", value, b.reshape(weight, shape))
    return b.binary("prelu", value, b.static(b.weight(weight, "weight").reshape(*shape)))


@rule(
    quantized=Quantized.TABLE,
    refuses=(NEGATIVE_THRESHOLD, NOT_FINITE),
    overrides="XNNPACK cannot choose by a threshold, and between integers it is one table",
)
def softplus(op: edge.SoftplusOp, b: NodeBuilder) -> SSAValue:
    """log(1 + e^(beta·self)) / beta; self where beta·self is above the threshold, which shows if that is low."""
    beta, threshold = finite_parameter("factor", op.beta), in_fp32(op.threshold)
    if beta == 0:
        raise NOT_FINITE(what="divisor's inverse", value=math.inf)
    if not threshold >= 0:
        raise NEGATIVE_THRESHOLD(threshold=threshold)
    number = argument(b, op.self)
    value = scaled(b, number, beta)
    if threshold >= INVISIBLE_THRESHOLD and is_within(op, b, LARGEST_EXPONENT / abs(beta or 1.0)):
        # One reader of each value: XNNPACK makes a table of it.
        return returned(op, b, scaled(b, b.unary("log", plus(b, b.unary("exp", value), 1.0)), 1.0 / beta))
    rest = soft_rest(b, value)
    if threshold < INVISIBLE_THRESHOLD:
        rest = b.binary("subtract", rest, b.binary("multiply", rest, is_positive(b, plus(b, value, -threshold))))
    straight = b.clamp(number, 0.0, None) if beta > 0 else b.clamp(number, None, 0.0)
    return returned(op, b, b.binary("add", straight, scaled(b, rest, 1.0 / beta)))


def is_within(op: edge.SoftplusOp | edge.MishOp, b: NodeBuilder, limit: float) -> bool:
    """Whether an op's input and result are quantised, the input over a range within ±`limit`."""
    around = integers_around(op.self, op.results[0], b.ctx)
    if around is None:
        return False
    low, high = range_of(around[0])
    return max(high - around[0].zero_point, around[0].zero_point - low) * around[0].scale <= limit


def soft_rest(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """log(1 + e^−|x|), what softplus is more than max(x, 0); the exponential never overflows."""
    return logarithm_of_one_plus(b, b.unary("exp", b.unary("negate", b.unary("abs", value))))


@rule(
    quantized=Quantized.TABLE,
    overrides="one exponential does for three functions, and between integers it is one table",
)
def mish(op: edge.MishOp, b: NodeBuilder) -> SSAValue:
    """self · tanh(log(1 + e^self)), which is self · w / (w + 2) with n = e^self and w = n·(n + 2).

    From e^10 on the quotient is 1. Between integers it is 1 − 2 / ((1 + n)² + 1), which XNNPACK makes a table of up to
    the product with `self`; like SiLU's sigmoid it is rounded to 8 bits in between.
    """
    value = argument(b, op.self)
    if is_within(op, b, LARGEST_EXPONENT / 2):
        square = b.unary("square", plus(b, b.unary("exp", value), 1.0))
        two, one = b.scalar(2.0, value), b.scalar(1.0, value)
        gate = b.binary("subtract", one, b.binary("divide", two, plus(b, square, 1.0)))
        return b.binary("multiply", value, b.dequantize(b.quantize(gate, BELOW_ONE)))
    number = b.unary("exp", b.clamp(value, None, 10.0))
    weight = b.binary("multiply", number, plus(b, number, 2.0))
    return returned(op, b, b.binary("multiply", value, b.binary("divide", weight, plus(b, weight, 2.0))))
