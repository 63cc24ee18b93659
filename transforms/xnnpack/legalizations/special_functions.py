"""Functions that XNNPACK has no operator for, composed of those that it has.

Each is accurate to a few units in the last place of its result, also near its zeros, and gives eager's infinities and
zeros (but not the sign of a zero). What a NaN becomes where two values are compared is XNNPACK's business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, i32
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder, fp32, in_fp32, rule

LARGEST = float.fromhex("0x1.fffffep127")
"""The largest fp32 number."""

WHOLE = 2.0**23
"""From here on all fp32 numbers are whole."""

MAX_POWER = 64
"""The largest whole power that is multiplied out; each squaring rounds once more. Above, e^(n·log x) is as accurate."""

ERF_NUMERATOR = (
    -1.60960333262415e-02,
    -2.95459980854025e-03,
    -7.34990630326855e-04,
    -5.69250639462346e-05,
    -2.10102402082508e-06,
    2.77068142495902e-08,
    -2.72614225801306e-10,
)
ERF_DENOMINATOR = (
    -1.42647390514189e-02,
    -7.37332916720468e-03,
    -1.68282697438203e-03,
    -2.13374055278905e-04,
    -1.45660718464996e-05,
)
"""Coefficients of x² from the constant on of erf(x) / x for |x| ≤ 4, where fp32 has erf(4) = 1: XLA's, in
`xla/hlo/builder/lib/math.cc`."""

ARTANH = (
    1.0000000038408792,
    0.3333316082069065,
    0.200122976153278,
    0.1398257887241118,
    0.14078889184146795,
)
"""Coefficients of s² from the constant on of artanh(s) / s for |s| ≤ 1/3: the polynomial that meets it at Chebyshev's
points, whose relative error is 4e-9."""


INEXACT_DIVISOR = Refusal(
    "its divisor {divisor:g} is not a power of 2 from 2^-126 to 2^23, so that quotients round",
    example=call("edge.remainder.Scalar", self=tensor(4), other=3),
)
NO_FUNCTION_OF_BASE = Refusal(
    "the power {exponent:g} does not depend on its base",
    "replace it by its value",
    example=call("edge.pow.Tensor_Scalar", self=tensor(4), exponent=0),
)
POWER_OF_INTEGERS = Refusal(
    "it is a power of integers, which XNNPACK would compute in floats",
    example=call("edge.pow.Scalar", self=2, exponent=tensor(4, element=i32)),
)
NO_LOGARITHM = Refusal(
    "its base {base:g} has no logarithm", example=call("edge.pow.Scalar", self=-2, exponent=tensor(4))
)


def scaled(b: NodeBuilder, value: SSAValue, factor: float) -> SSAValue:
    """`value` times a number."""
    return value if factor == 1 else b.binary("multiply", value, b.scalar(float(factor), value))


def plus(b: NodeBuilder, value: SSAValue, number: float) -> SSAValue:
    """`value` plus a number."""
    return b.binary("add", value, b.scalar(number, value))


def difference(b: NodeBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """lhs − rhs."""
    return b.binary("subtract", lhs, rhs)


def finite(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """`value` with the largest numbers for infinities."""
    return b.clamp(value, -LARGEST, LARGEST)


def logarithm(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """log x, of infinity and NaN as well.

    XNNPACK's is a number for both on processors without AVX-512, so that a power of a sum that has overflowed would
    look like a result. What `value` is beyond the largest number is added: infinity, NaN, or 0.
    """
    value = widened(b, value)
    number = finite(b, value)
    return b.binary("add", b.unary("log", number), difference(b, value, number))


def is_positive(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """1 where a value is above 0, else 0: two multiplications by a power of 2, each clamped, lift any number to 1.

    That is, unless the processor takes denormal numbers for zero, as some runtimes tell it to.
    """
    return lifted(b, value, 0.0, 1.0)


def lifted(b: NodeBuilder, value: SSAValue, low: float, high: float) -> SSAValue:
    """The sign of a value, within [low, high]."""
    factor = b.scalar(2.0**15 if element_type(value) == f16 else 2.0**127, value)
    for _ in range(2):
        value = b.binary("multiply", value, factor, low, high)
    return value


def polynomial(b: NodeBuilder, value: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """Σ cᵢ·valueⁱ, by Horner's rule."""
    result = plus(b, scaled(b, value, coefficients[-1]), coefficients[-2])
    for coefficient in reversed(coefficients[:-2]):
        result = plus(b, b.binary("multiply", result, value), coefficient)
    return result


def argument(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """An operand in the result's element type, 16-bit numbers as fp32, which the compositions are made for."""
    return widened(b, b.promoted(value))


def widened(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """16-bit numbers as fp32."""
    return b.convert(value, f32) if element_type(value) in (f16, bf16) else value


def returned(op: edge.EdgeOp, b: NodeBuilder, value: SSAValue) -> SSAValue:
    """`value` in the result's element type."""
    return b.convert(value, element_type(op.results[0]))


@rule()
def erf(op: edge.ErfOp, b: NodeBuilder) -> SSAValue:
    """The error function, as a quotient of polynomials."""
    value = b.clamp(argument(b, op.self), -4.0, 4.0)
    square = b.unary("square", value)
    numerator = b.binary("multiply", value, polynomial(b, square, ERF_NUMERATOR))
    quotient = b.binary("divide", numerator, polynomial(b, square, ERF_DENOMINATOR))
    return returned(op, b, b.clamp(quotient, -1.0, 1.0))


@rule()
def expm1(op: edge.Expm1Op, b: NodeBuilder) -> SSAValue:
    """e^self − 1, without the loss of digits near 0."""
    return returned(op, b, exponential_less_one(b, argument(b, op.self)))


def exponential_less_one(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """e^x − 1: what ELU is below 0, and above it −(e^−x − 1)·e^x."""
    above = b.clamp(value, 0.0, None)
    falling = elu_of(b, b.unary("negate", above), 1.0)
    return difference(
        b, elu_of(b, b.clamp(value, None, 0.0), 1.0), b.binary("multiply", falling, b.unary("exp", above))
    )


def elu_of(b: NodeBuilder, value: SSAValue, alpha: float) -> SSAValue:
    """An ELU node."""
    return b.node(xnnpack.EluOp, [value], {"alpha": fp32(alpha)})


@rule()
def sinh(op: edge.SinhOp, b: NodeBuilder) -> SSAValue:
    """((e^self − 1) − (e^−self − 1)) / 2, whose terms have one sign. Like e^self it overflows from 88.8 on."""
    value = argument(b, op.self)
    rising, falling = exponential_less_one(b, value), exponential_less_one(b, b.unary("negate", value))
    return returned(op, b, difference(b, scaled(b, rising, 0.5), scaled(b, falling, 0.5)))


@rule()
def log1p(op: edge.Log1pOp, b: NodeBuilder) -> SSAValue:
    """log(1 + self), without the loss of digits near 0.

    XNNPACK's logarithm is off by 2^-23 near 1, however near to 0 it is there. So it takes what is beyond [-1/2, 1]:
    log(1 + c) + log((1 + x) / (1 + c)) with c the number of that interval that is next to x, and the second term 0
    within. Its logarithm of infinity is infinity on some processors only; what infinity is above the largest number is
    it everywhere.
    """
    value = argument(b, op.self)
    number = finite(b, value)
    near = b.clamp(number, -0.5, 1.0)
    beyond = b.unary("log", b.binary("divide", plus(b, number, 1.0), plus(b, near, 1.0)))
    curve = b.binary("add", logarithm_of_one_plus(b, near), beyond)
    return returned(op, b, b.binary("add", curve, difference(b, value, number)))


def logarithm_of_one_plus(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """log(1 + x) for x in [-1/2, 1]: 2·artanh(s) with s = x / (2 + x), and artanh(s) / s a polynomial of s²."""
    quotient = b.binary("divide", value, plus(b, value, 2.0))
    series = polynomial(b, b.unary("square", quotient), ARTANH)
    return b.binary("multiply", scaled(b, quotient, 2.0), series)


@rule()
def round_(op: edge.RoundOp, b: NodeBuilder) -> SSAValue:
    """The nearest integer, ties to even.

    Stock ExecuTorch has no node for it. Between 2²³ and 2²⁴ fp32 has whole numbers only, so there addition rounds:
    positive numbers on that side of 0, negative ones on the other. What is larger is whole.
    """
    value = argument(b, op.self)
    if b.has_xir_nodes:
        return returned(op, b, b.unary("bankers_rounding", value))
    number = b.scalar(WHOLE, value)
    above = b.binary("subtract", b.binary("add", value, number, WHOLE, 2 * WHOLE), number)
    below = b.binary("add", b.binary("subtract", value, number, -2 * WHOLE, -WHOLE), number)
    rest = difference(b, value, b.clamp(value, -WHOLE, WHOLE))
    return returned(op, b, b.binary("add", b.binary("add", above, below), rest))


@rule(refuses=(INEXACT_DIVISOR,))
def remainder(op: edge.RemainderScalarOp | edge.FmodScalarOp, b: NodeBuilder) -> SSAValue:
    """self − ⌊self / other⌋·other, rounded towards zero for fmod.

    By a power of 2 no step rounds. Other quotients may round up to a whole number, which is wrong by all of `other`;
    stock ExecuTorch has no node that computes the remainder itself. By less than 1 the quotient could overflow: numbers
    from 2²⁴·|other| on have no remainder, and stay at that; those that have none for being infinite are NaN, as they
    are less themselves.
    """
    value, divisor = argument(b, op.self), in_fp32(op.other)
    if b.has_xir_nodes and op.name == "edge.fmod.Scalar" and divisor != 0:
        return returned(op, b, b.binary("modulus", value, b.scalar(divisor, value)))
    if not is_power_of_2(divisor):
        raise INEXACT_DIVISOR(divisor=divisor)
    nearer = value
    if abs(divisor) < 1:
        bound = abs(divisor) * 2.0**24
        nearer = b.binary("add", b.clamp(value, -bound, bound), difference(b, value, value))
    quotient = scaled(b, nearer, 1 / divisor)
    whole = b.unary("floor", quotient) if op.name == "edge.remainder.Scalar" else truncated(b, quotient)
    return returned(op, b, difference(b, nearer, scaled(b, whole, divisor)))


def is_power_of_2(number: float) -> bool:
    """Whether no quotient of a normal number by this one rounds: the least that fp32 has is 2⁻¹⁴⁹."""
    return abs(math.frexp(number)[0]) == 0.5 and 2.0**-126 <= abs(number) <= 2.0**23


def truncated(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """max(floor(value), min(ceil(value), 0)): the floor where it is positive, else the ceiling."""
    towards_zero = b.clamp(b.unary("ceiling", value), None, 0.0)
    return b.binary("maximum", b.unary("floor", value), towards_zero)


def refuse_integers(op: edge.EdgeOp) -> None:
    """RefusalError if a power is one of integers, which wrap around in eager, and in products alone."""
    if isinstance(element_type(op.results[0]), IntegerType):
        raise POWER_OF_INTEGERS()


@rule(refuses=(NO_FUNCTION_OF_BASE, POWER_OF_INTEGERS))
def pow_scalar(op: edge.PowTensorScalarOp, b: NodeBuilder) -> SSAValue:
    """Self to the power of a number."""
    exponent = float(op.exponent)
    is_product = exponent.is_integer() and 0 < exponent <= MAX_POWER
    if not is_product or element_type(op.self) != element_type(op.results[0]):
        refuse_integers(op)
    if exponent == 0 or not math.isfinite(in_fp32(exponent)):
        raise NO_FUNCTION_OF_BASE(exponent=exponent)
    return returned(op, b, power(b, argument(b, op.self), exponent))


def power(b: NodeBuilder, value: SSAValue, exponent: float) -> SSAValue:
    """`value` to a power: whole ones by repeated squaring, times a root of degree 2 or 4; others as e^(n·log x)."""
    whole, part = divmod(abs(exponent), 1)
    if whole > MAX_POWER or part not in (0, 0.25, 0.5, 0.75):
        if part:
            return by_logarithm(b, value, exponent)
        magnitude = by_logarithm(b, b.unary("abs", value), exponent)
        return magnitude if whole % 2 == 0 else b.binary("multiply", magnitude, lifted(b, value, -1.0, 1.0))
    if exponent == -0.5:
        return b.unary("reciprocal_square_root", value)
    if exponent < 0:
        # Before the power, which could be too small to divide by.
        value = b.binary("divide", b.scalar(1.0, value), value)
    factors = [whole_power(b, value, int(whole))] if whole else []
    root = b.unary("square_root", value) if part else value
    if part in (0.5, 0.75):
        factors.append(root)
    if part in (0.25, 0.75):
        factors.append(b.unary("square_root", root))
    result = factors[0]
    for factor in factors[1:]:
        result = b.binary("multiply", result, factor)
    return result


def by_logarithm(b: NodeBuilder, value: SSAValue, exponent: float) -> SSAValue:
    """e^(exponent·log x), where there is no node for it.

    XNNPACK's e^NaN is 0, which a negative number does not have for a power: so the logarithm less itself is added.
    """
    if b.has_xir_nodes:
        return b.binary("pow", value, b.scalar(exponent, value))
    power = logarithm(b, value)
    number = finite(b, power)
    undefined = difference(b, number, number)
    return b.binary("add", b.unary("exp", scaled(b, power, exponent)), undefined)


def whole_power(b: NodeBuilder, value: SSAValue, exponent: int) -> SSAValue:
    """`value` to a positive whole power, by squaring."""
    if exponent == 1:
        return value
    half = b.unary("square", whole_power(b, value, exponent // 2))
    return half if exponent % 2 == 0 else b.binary("multiply", half, value)


@rule(refuses=(NO_LOGARITHM, POWER_OF_INTEGERS))
def scalar_pow(op: edge.PowScalarOp, b: NodeBuilder) -> SSAValue:
    """A positive number to the power `exponent`: e^(exponent·log(number))."""
    refuse_integers(op)
    base = in_fp32(op.self)
    if not 0 < base < math.inf:
        raise NO_LOGARITHM(base=base)
    return returned(op, b, power_of(b, base, argument(b, op.exponent)))


def power_of(b: NodeBuilder, base: float, exponent: SSAValue) -> SSAValue:
    """e^(exponent·log(base)), in fp32: an error of the product is one of the result, as many times as it is large."""
    result = b.unary("exp", scaled(b, b.convert(exponent, f32), math.log(base)))
    return b.convert(result, element_type(exponent))


@rule(refuses=(POWER_OF_INTEGERS,))
def pow_tensor(op: edge.PowTensorTensorOp, b: NodeBuilder) -> SSAValue:
    """Self to the power `exponent`: e^(exponent·log |self|), with the sign of an odd power of a negative number.

    A negative number has no other than whole powers: the square root of −(exponent − ⌊exponent⌋) is NaN there, and 0
    for all others. Stock ExecuTorch has no node for it.
    """
    refuse_integers(op)
    if b.has_xir_nodes:
        return returned(op, b, b.binary("pow", argument(b, op.self), argument(b, op.exponent)))
    base, exponent = argument(b, op.self), finite(b, argument(b, op.exponent))
    power = finite(b, logarithm(b, b.unary("abs", base)))
    magnitude = b.unary("exp", b.binary("multiply", exponent, power))
    negative = is_positive(b, b.unary("negate", base))
    halves = b.unary("floor", scaled(b, exponent, 0.5))
    parity = difference(b, exponent, scaled(b, halves, 2.0))
    sign = plus(b, b.binary("multiply", scaled(b, parity, -2.0), negative), 1.0)
    part = difference(b, b.unary("floor", exponent), exponent)
    undefined = b.unary("square_root", b.binary("multiply", part, negative))
    return returned(op, b, b.binary("add", b.binary("multiply", magnitude, sign), undefined))
