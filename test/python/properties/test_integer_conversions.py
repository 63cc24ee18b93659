"""Conversions between numbers and integers, and moves of integers: exactly what their definitions give."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from properties import integers
from properties.examples import DETERMINISTIC, examples
from properties.integers import HIGH, LOW, Params, exactly, f32
from properties.quantized import PARAMS, RATIOS, ZERO_POINTS, Builder, int8s

EVERY = np.arange(LOW, HIGH + 1).astype(np.int8)


def quantized(numbers: NDArray[np.float32], params: Params) -> integers.Integers:
    """Products with the inverse scale in fp32, rounded to nearest even, as `quantized_decomposed` defines it."""
    inverse = np.float32(1) / np.float32(params.scale)
    with np.errstate(over="ignore"):
        steps = np.rint((numbers * inverse).astype(np.float64))
    return np.clip(steps + params.zero_point, LOW, HIGH).astype(np.int64)


@settings(max_examples=examples(13), **DETERMINISTIC)
@given(PARAMS, st.integers(0, 2**32 - 1))
def test_quantize(params: Params, seed: int) -> None:
    generator = np.random.default_rng(seed)
    steps = np.concatenate([np.arange(-300, 300) / 2, generator.uniform(-300, 300, 100), [1e9, -1e9, 1e30, -1e30]])
    with np.errstate(over="ignore"):
        scaled = steps.astype(np.float32) * np.float32(params.scale)
    numbers = np.concatenate([scaled, [np.inf, -np.inf, 0.0, -0.0]])
    numbers = numbers.astype(np.float32)
    b = Builder()
    program = b.lowered(b.quantize(b.input(numbers), params))
    for (got,) in b.run(program):
        exactly(quantized(numbers, params)).check(got)


@settings(max_examples=examples(8), **DETERMINISTIC)
@given(PARAMS)
def test_quantize_gives_nan_some_integer(params: Params) -> None:
    """Which one no definition says; the other numbers of the tensor are not affected."""
    numbers = np.array([np.nan, params.scale, -params.scale] * 11, np.float32)
    b = Builder()
    program = b.lowered(b.quantize(b.input(numbers), params))
    for (got,) in b.run(program):
        exactly(quantized(numbers[1:3], params)).check(got[1:3])
        exactly(quantized(numbers[-2:], params)).check(got[-2:])


@settings(max_examples=examples(8), **DETERMINISTIC)
@given(PARAMS)
def test_dequantize(params: Params) -> None:
    b = Builder()
    program = b.lowered(b.activation(EVERY, params))
    expected = params.centered(EVERY).astype(np.float32) * np.float32(params.scale)
    for (got,) in b.run(program):
        assert np.array_equal(got, expected)


@settings(max_examples=examples(15), **DETERMINISTIC)
@given(PARAMS, RATIOS, ZERO_POINTS)
def test_requantize(source: Params, ratio: float, zero_point: int) -> None:
    result = Params(f32(source.scale / ratio), zero_point)
    b = Builder()
    program = b.lowered(b.quantize(b.activation(EVERY, source), result))
    numbers = source.centered(EVERY).astype(np.float32) * np.float32(source.scale)
    for (got,) in b.run(program):
        exactly(quantized(numbers, result)).check(got)


Moved = tuple[str, dict[str, Any], tuple[int, ...], Any]

MOVES: list[Moved] = [
    ("permute", {"dims": (0, 2, 1)}, (2, 3, 5), lambda x, _: x.transpose(0, 2, 1)),
    ("view", {"size": (5, 6)}, (2, 3, 5), lambda x, _: x.reshape(5, 6)),
    ("slice.Tensor", {"dim": 1, "start": 1, "end": 7, "step": 2}, (3, 8), lambda x, _: x[:, 1:7:2]),
    ("select.int", {"dim": 1, "index": 2}, (3, 8), lambda x, _: x[:, 2]),
    ("flip", {"dims": (1,)}, (3, 8), lambda x, _: x[:, ::-1]),
    ("repeat", {"repeats": (2, 1)}, (3, 8), lambda x, _: np.tile(x, (2, 1))),
    (
        "constant_pad_nd",
        {"pad": (1, 2)},
        (3, 8),
        lambda x, p: np.pad(x, ((0, 0), (1, 2)), constant_values=p.zero_point),
    ),
    ("max_pool2d", {"kernel_size": (2, 2)}, (1, 3, 4, 6), lambda x, _: x.reshape(1, 3, 2, 2, 3, 2).max((3, 5))),
    ("pixel_shuffle", {"upscale_factor": 2}, (1, 4, 2, 3), lambda x, _: shuffled(x)),
]
"""Op, arguments, shape, and what it does to integers."""


def shuffled(x: NDArray[np.int8]) -> NDArray[np.int8]:
    """The four channels as pixels of a square."""
    return x.reshape(1, 1, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 4, 6)


@pytest.mark.parametrize(
    ("name", "args", "shape", "move"), MOVES, ids=lambda value: value if isinstance(value, str) else ""
)
@settings(max_examples=examples(4), **DETERMINISTIC)
@given(st.data())
def test_moves_leave_integers_alone(
    name: str, args: dict[str, Any], shape: tuple[int, ...], move: Any, data: Any
) -> None:
    x, params = data.draw(int8s(shape)), data.draw(PARAMS)
    b = Builder()
    b.check(b.op(name, self=b.activation(x, params), **args), params, exactly(move(x, params).astype(np.int64)))


@settings(max_examples=examples(8), **DETERMINISTIC)
@given(st.data())
def test_concatenate(data: Any) -> None:
    """Parts with the result's parameters are moved, others rounded to it."""
    result = data.draw(PARAMS)
    parts = [data.draw(int8s((3, size))) for size in (2, 1, 5)]
    params = [
        result if data.draw(st.booleans()) else Params(f32(result.scale * data.draw(RATIOS)), data.draw(ZERO_POINTS))
        for _ in parts
    ]
    b = Builder()
    value = b.op("cat", tensors=[b.activation(x, p) for x, p in zip(parts, params, strict=True)], dim=1)
    expected = [
        x if p == result else quantized(p.centered(x).astype(np.float32) * np.float32(p.scale), result)
        for x, p in zip(parts, params, strict=True)
    ]
    program = b.lowered(b.quantize(value, result))
    for (got,) in b.run(program):
        exactly(np.concatenate(expected, 1).astype(np.int64)).check(got)


@settings(max_examples=examples(4), **DETERMINISTIC)
@given(st.data())
def test_bilinear_upsampling(data: Any) -> None:
    """Weights of 1/4 and 3/4 are exact in XNNPACK's 11 bits; ties are rounded up. Source: `src/s8-ibilinear`."""
    x, params = data.draw(int8s((1, 2, 3, 4))), data.draw(PARAMS)
    b = Builder()
    value = b.op("upsample_bilinear2d", self=b.activation(x, params), output_size=(6, 8), align_corners=False)
    exact = x.astype(object) * Fraction(1)
    for axis in (2, 3):
        exact = doubled(exact, axis)
    b.check(value, params, integers.rounded(exact, Fraction(0)))


def doubled(x: NDArray[Any], axis: int) -> NDArray[Any]:
    """Twice as many numbers along an axis, a quarter of a step before and behind the old ones."""
    x = np.moveaxis(x, axis, 0)
    before, behind = np.concatenate([x[:1], x[:-1]]), np.concatenate([x[1:], x[-1:]])
    pairs = np.stack([x * Fraction(3, 4) + before * Fraction(1, 4), x * Fraction(3, 4) + behind * Fraction(1, 4)], 1)
    return np.moveaxis(pairs.reshape(-1, *x.shape[1:]), 0, axis)
