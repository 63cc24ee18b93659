"""Quantised operators in integer arithmetic, from their definitions.

Sums are exact: int64, and fractions where operands have scales of their own. Numbers become integers again by one fp32
multiplication and rounding to nearest even, as fixed by the arithmetic; where XNNPACK's kernel is a coarser one, the
reference gives the interval that it may round to, never more than two neighbours, from the error of that kernel.

Source of the kernels' arithmetic: XNNPACK at commit 92a7ad501b; each function names its file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bounds = tuple[float | None, float | None]
UNBOUNDED: Bounds = (None, None)

LOW, HIGH = -128, 127


@dataclass(frozen=True)
class Params:
    """Quantisation by tensor to int8: number = scale · (integer − zero point)."""

    scale: float
    """An fp32 number, as files have it."""
    zero_point: int

    def centered(self, integers: NDArray[Any]) -> Integers:
        """integer − zero point."""
        return integers.astype(np.int64) - self.zero_point

    def bound(self, number: float | None, absent: int) -> int:
        """The integer that a result is clamped to for a float bound: number / scale + zero point, rounded once.

        Source: `xnn_qs8_quantize` of `src/xnnpack/quantization.h`.
        """
        if number is None:
            return absent
        whole = np.float32(number) / np.float32(self.scale) + np.float32(self.zero_point)
        return int(np.rint(np.clip(whole, LOW, HIGH)))


def f32(number: float) -> float:
    """The nearest fp32 number."""
    return float(np.float32(number))


@dataclass(frozen=True)
class Expected:
    """The integers that are right: one, or two neighbours where a kernel is coarse and the exact number near a tie."""

    least: Integers
    greatest: Integers

    def __post_init__(self) -> None:
        assert (self.greatest - self.least <= 1).all()

    def check(self, got: NDArray[Any]) -> None:
        """Raise unless all integers of `got` are right."""
        wrong = np.argwhere((got < self.least) | (got > self.greatest))
        assert got.shape == self.least.shape
        assert not len(wrong), (
            f"{len(wrong)} of {got.size} are wrong, the first at {tuple(wrong[0])}: {got[tuple(wrong[0])]}, "
            f"not {self.least[tuple(wrong[0])]} to {self.greatest[tuple(wrong[0])]}"
        )


def exactly(integers: Integers) -> Expected:
    """These integers."""
    return Expected(integers, integers)


def rounded(numbers: NDArray[Any], window: NDArray[Any] | Fraction, low: int = LOW, high: int = HIGH) -> Expected:
    """The integers next to exact numbers (fractions, zero point added), both neighbours within `window` of a tie."""
    half = Fraction(1, 2)

    def bound(direction: int) -> Integers:
        shifted = numbers + direction * (half + window)
        whole = np.frompyfunc((lambda x: -((-x) // 1)) if direction < 0 else (lambda x: x // 1), 1, 1)(shifted)
        return np.clip(np.asarray(whole, dtype=object), low, high).astype(np.int64)

    return Expected(bound(-1), bound(1))


def requantize(
    sums: Integers, factor: NDArray[np.float32] | np.float32, zero_point: int, low: int, high: int
) -> Integers:
    """int32 sums to int8: the fp32 product with `factor`, rounded to nearest even, plus the zero point, clamped."""
    assert (np.abs(sums) < 2**31).all(), "XNNPACK's accumulators have 32 bits"
    return np.clip(np.rint(sums.astype(np.float32) * factor).astype(np.float64) + zero_point, low, high).astype(
        np.int64
    )


# Products with weights


@dataclass(frozen=True)
class Weight:
    """A filter: integers, and a scale for each output channel, or one."""

    integers: NDArray[np.int8]
    scales: NDArray[np.float32]

    def factor(self, source: Params, result: Params) -> NDArray[np.float32]:
        """What sums of each channel are multiplied by: input · filter / output scale, in fp32, in this order."""
        return np.float32(source.scale) * self.scales / np.float32(result.scale)

    def bias(self, numbers: NDArray[np.float32] | None, source: Params, channels: int) -> Integers:
        """The bias of each output channel in steps of input · filter scale."""
        if numbers is None:
            return np.zeros(channels, np.int64)
        steps = (np.float32(source.scale) * self.scales).astype(np.float64)
        return np.clip(np.rint(numbers.astype(np.float64) / steps), -(2**31), 2**31 - 1).astype(np.int64)


def weighted(
    sum_up: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    x: NDArray[np.int8],
    source: Params,
    weight: Weight,
    bias: NDArray[np.float32] | None,
    result: Params,
    bounds: Bounds = UNBOUNDED,
) -> Expected:
    """What PyTorch's `sum_up` makes of x and the filter, [N, O, …].

    It does so in fp64, which holds all integers up to 2^53: these sums are exact in any order.
    """
    sums = sum_up(torch.from_numpy(source.centered(x)).double(), torch.from_numpy(weight.integers).double())
    by_channel = (-1, *[1] * (sums.dim() - 2))
    steps = sums.numpy().astype(np.int64) + weight.bias(bias, source, sums.shape[1]).reshape(by_channel)
    factor = weight.factor(source, result).reshape(by_channel)
    return exactly(requantize(steps, factor, result.zero_point, *limits(result, bounds)))


def limits(result: Params, bounds: Bounds) -> tuple[int, int]:
    """The integers that float bounds clamp a result to."""
    return result.bound(bounds[0], LOW), result.bound(bounds[1], HIGH)


def matrix_product(a: NDArray[np.int8], pa: Params, b: NDArray[np.int8], pb: Params, result: Params) -> Expected:
    """a [..., M, K] · b [..., K, N]."""
    factor = np.float32(pa.scale) * np.float32(pb.scale) / np.float32(result.scale)
    return exactly(requantize(pa.centered(a) @ pb.centered(b), factor, result.zero_point, LOW, HIGH))


# Elementwise


def sum_of(
    a: NDArray[np.int8],
    pa: Params,
    b: NDArray[np.int8],
    pb: Params,
    result: Params,
    sign: int = 1,
    bounds: Bounds = UNBOUNDED,
) -> Expected:
    """a + b, or a − b with `sign` −1.

    The kernel multiplies by the scales' ratios as integers of 21 bits, of which the larger uses all; ties are rounded
    up. A multiplier is off by up to 5/8: half a unit of rounding, and 2^21 · 2^-24 of the fp32 ratio. So the sum is
    off by that times the operands, in units of 2^-shift. Source: `xnn_init_qs8_add_minmax_scalar_params` of
    `src/microparams-init.c`, `src/qs8-vadd/scalar.c.in`.
    """
    ratios = [Fraction(p.scale) / Fraction(result.scale) for p in (pa, pb)]
    terms: list[Any] = list(np.broadcast_arrays(pa.centered(a).astype(object), pb.centered(b).astype(object)))
    exact = terms[0] * ratios[0] + sign * terms[1] * ratios[1] + result.zero_point
    largest = max(np.float32(p.scale) / np.float32(result.scale) for p in (pa, pb))
    shift = 20 - (int(np.frexp(largest)[1]) - 1)
    return rounded(exact, (abs(terms[0]) + abs(terms[1])) * Fraction(5, 8) / 2**shift, *limits(result, bounds))


def product_of(
    a: NDArray[np.int8],
    pa: Params,
    b: NDArray[np.int8],
    pb: Params,
    result: Params,
    bounds: Bounds = UNBOUNDED,
) -> Expected:
    """a · b, rounded to nearest: on x86 the fp32 product and to even, on Arm the exact product and ties up.

    Arm's kernel multiplies integers: it doubles the product with the 24 bits of the factor, drops what is below
    2^-shift with a shift of at least 1, adds a half and drops the rest, which rounds once. Source:
    `xnn_init_qs8_mul_minmax_{scalar,rndnu_neon}_params` of `src/microparams-init.c`, `src/qs8-vmul/neon.c.in`.
    """
    factor = np.float32(pa.scale) * np.float32(pb.scale) / np.float32(result.scale)
    products, low_and_high = pa.centered(a) * pb.centered(b), limits(result, bounds)
    to_even = requantize(products, factor, result.zero_point, *low_and_high)
    ties_up = (products.astype(object) * Fraction(float(factor)) + Fraction(1, 2)) // 1 + result.zero_point
    ties_up = np.clip(ties_up, *low_and_high).astype(np.int64)
    return Expected(np.minimum(to_even, ties_up), np.maximum(to_even, ties_up))


def mean(x: NDArray[np.int8], source: Params, axes: tuple[int, ...], result: Params) -> Expected:
    """The mean over `axes`, which stay with size 1.

    The kernel multiplies the sum of the integers, zero points included, by one fp32 number, and adds another which
    holds both zero points: four roundings to 24 bits of numbers of this size. Source: `src/operators/reduce-nd.c`.
    """
    count = int(np.prod([x.shape[axis] for axis in axes]))
    ratio = Fraction(source.scale) / Fraction(result.scale) / count
    exact = source.centered(x).sum(axes, keepdims=True).astype(object) * ratio + result.zero_point
    size = abs(x.astype(np.int64).sum(axes, keepdims=True)).astype(object) * ratio
    size = size + abs(source.zero_point * count) * ratio + abs(result.zero_point)
    return rounded(exact, size * Fraction(4, 2**24))


def table(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    source: Params,
    result: Params,
    slack: float,
    offset: float = 0.0,
) -> Expected:
    """What each of the 256 integers becomes; `slack` is the relative error of `function`, `offset` its absolute one.

    What NaN becomes is not defined; here it is the zero point.

    A table is computed from fp32 numbers: scale · (integer − zero point), the function, and the quotient with the
    zero point added, rounded once. Source: `src/reference/unary-elementwise.cc`.
    """
    integers = np.arange(LOW, HIGH + 1)
    numbers = (source.centered(integers).astype(np.float32) * np.float32(source.scale)).astype(np.float64)
    with np.errstate(all="ignore"):
        steps = np.nan_to_num(function(numbers) / result.scale)
    steps = np.clip(steps, -(2.0**20), 2.0**20)
    exact = np.array([Fraction(float(step)) + result.zero_point for step in steps], dtype=object)
    window = np.array(
        [
            Fraction(abs(float(step))) * Fraction(slack) + Fraction(offset / result.scale) + Fraction(1, 2**16)
            for step in steps
        ],
        dtype=object,
    )
    return rounded(exact, window)
