"""Convolutions, fully connected nodes and matrix products on int8: exactly the integers that the arithmetic gives."""

from __future__ import annotations

from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from numpy.typing import NDArray
from properties import integers
from properties.examples import DETERMINISTIC, examples
from properties.integers import HIGH, LOW, Bounds, Params, Weight, f32
from properties.quantized import PARAMS, RATIOS, ZERO_POINTS, Builder, float_nodes, int8s
from torch.nn import functional
from xdsl.ir import SSAValue


@st.composite
def weights(draw: st.DrawFn, shape: tuple[int, ...], channels: int, smallest: int = -20) -> Weight:
    """A filter with a scale for each channel, or one."""
    integers = np.maximum(draw(int8s(shape)), -127).astype(np.int8)
    count = draw(st.sampled_from([channels, 1]))
    exponents = draw(st.lists(st.integers(smallest, 0), min_size=count, max_size=count))
    scales = np.array([draw(st.sampled_from([1.0, 1.3, 1.9])) * 2.0**e for e in exponents], np.float32)
    if draw(st.booleans()):
        scales = np.full_like(scales, scales.max())
    return Weight(integers, scales)


@st.composite
def results(draw: st.DrawFn, source: Params, scales: NDArray[np.float32]) -> Params:
    """Parameters of a result that the sums fit, saturate, or hardly fill."""
    scale = f32(source.scale * float(scales.max()) / draw(RATIOS))
    return Params(scale, draw(ZERO_POINTS))


@st.composite
def biases(draw: st.DrawFn, source: Params, scales: NDArray[np.float32], channels: int) -> NDArray[np.float32] | None:
    """Numbers that are whole in the steps of the sums, or half of one, or anything, or none."""
    kind = draw(st.sampled_from(["none", "whole", "half", "any"]))
    if kind == "none":
        return None
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps = generator.integers(-2000, 2000, channels) + {"whole": 0.0, "half": 0.5, "any": 0.3}[kind]
    return (steps * (np.float32(source.scale) * scales).astype(np.float64)).astype(np.float32)


@st.composite
def activations(draw: st.DrawFn, result: Params) -> Bounds:
    """The bounds of a fused activation, in numbers: none, ReLU, ReLU6, or others within the range of the result."""
    low, high = ((end - result.zero_point) * result.scale for end in (LOW, HIGH))
    kind = draw(st.sampled_from(["none", "relu", "both"]))
    if kind == "none":
        return None, None
    if kind == "relu":
        return (0.0, None) if result.zero_point < HIGH else (None, None)
    middle = low + (high - low) * draw(st.floats(0.25, 0.6))
    return f32(middle), f32(middle + (high - low) / 3)


def clamped(b: Builder, value: SSAValue, bounds: Bounds) -> SSAValue:
    """`value` behind an activation."""
    if bounds == (None, None):
        return value
    if bounds == (0.0, None):
        return b.op("relu", self=value)
    return b.op("clamp", self=value, min=bounds[0], max=bounds[1])


def static(numbers: NDArray[np.float32] | None, b: Builder) -> SSAValue | None:
    return None if numbers is None else b.constant(numbers)


@settings(max_examples=examples(15), **DETERMINISTIC)
@given(st.data())
def test_fully_connected(data: Any) -> None:
    rows, inputs, outputs = (data.draw(st.integers(1, high)) for high in (4, 70, 9))
    x, source = data.draw(int8s((rows, inputs))), data.draw(PARAMS)
    weight = data.draw(weights((outputs, inputs), outputs))
    result = data.draw(results(source, weight.scales))
    bias, bounds = data.draw(biases(source, weight.scales, outputs)), data.draw(activations(result))
    b = Builder()
    value = b.op("linear", input=b.activation(x, source), weight=b.weight(weight, 0), bias=static(bias, b))
    expected = integers.weighted(functional.linear, x, source, weight, bias, result, bounds)
    b.check(clamped(b, value, bounds), result, expected)


FORMS = {"dense": (1, 0), "grouped": (2, 2), "depthwise": (4, 1), "depthwise by two": (4, 2)}
"""Groups, and outputs of each; 0 for any number."""


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(8), **DETERMINISTIC)
@given(st.data())
def test_convolution(form: str, data: Any) -> None:
    groups, each = FORMS[form]
    channels = 4 if groups > 1 else data.draw(st.integers(1, 5))
    outputs = groups * each or data.draw(st.integers(1, 9))
    kernel = [data.draw(st.integers(1, 3)) for _ in range(2)]
    stride, dilation = ([data.draw(st.integers(1, 2)) for _ in range(2)] for _ in range(2))
    padding = [data.draw(st.integers(0, 2)) for _ in range(2)]
    x, source = data.draw(int8s((data.draw(st.integers(1, 2)), channels, 6, 7))), data.draw(PARAMS)
    weight = data.draw(weights((outputs, channels // groups, *kernel), outputs))
    result = data.draw(results(source, weight.scales))
    bias, bounds = data.draw(biases(source, weight.scales, outputs)), data.draw(activations(result))
    where: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    b = Builder()
    operands = {"input": b.activation(x, source), "weight": b.weight(weight, 0), "bias": static(bias, b)}
    value = b.op("convolution", **operands, **where, transposed=False, output_padding=(0, 0))
    expected = integers.weighted(partial(functional.conv2d, **where), x, source, weight, bias, result, bounds)
    b.check(clamped(b, value, bounds), result, expected)


@settings(max_examples=examples(10), **DETERMINISTIC)
@given(st.data())
def test_transposed_convolution(data: Any) -> None:
    groups, channels = data.draw(st.sampled_from([(1, 3), (2, 4)]))
    outputs = groups * data.draw(st.integers(1, 3))
    kernel = [data.draw(st.integers(1, 3)) for _ in range(2)]
    stride = [data.draw(st.integers(1, 3)) for _ in range(2)]
    padding = [data.draw(st.integers(0, size - 1)) for size in kernel]
    extra = [data.draw(st.integers(0, s - 1)) for s in stride]
    where: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": [1, 1], "groups": groups}
    where["output_padding"] = extra
    x, source = data.draw(int8s((1, channels, 3, 4))), data.draw(PARAMS)
    weight = data.draw(weights((channels, outputs // groups, *kernel), outputs))
    if groups > 1:  # several channels share a scale along the filter's dimension of outputs
        weight = Weight(weight.integers, weight.scales[:1])
    result = data.draw(results(source, weight.scales))
    bias, bounds = data.draw(biases(source, weight.scales, outputs)), data.draw(activations(result))
    b = Builder()
    operands = {"input": b.activation(x, source), "weight": b.weight(weight, 1), "bias": static(bias, b)}
    value = b.op("convolution", **operands, **where, transposed=True)
    expected = integers.weighted(partial(functional.conv_transpose2d, **where), x, source, weight, bias, result, bounds)
    b.check(clamped(b, value, bounds), result, expected)


@settings(max_examples=examples(10), **DETERMINISTIC)
@given(st.data())
def test_matrix_product(data: Any) -> None:
    batch, rows, inner, columns = (data.draw(st.integers(1, high)) for high in (3, 5, 40, 9))
    x, source = data.draw(int8s((batch, rows, inner))), data.draw(PARAMS)
    y = data.draw(int8s((batch, inner, columns)))
    other = Params(f32(2.0 ** data.draw(st.integers(-20, 0)) * data.draw(st.sampled_from([1.0, 1.3]))), 0)
    result = data.draw(results(source, np.array([other.scale], np.float32)))
    b = Builder()
    value = b.op("bmm", self=b.activation(x, source), mat2=b.activation(y, other))
    b.check(value, result, integers.matrix_product(x, source, y, other, result))


@settings(max_examples=examples(5), **DETERMINISTIC)
@given(st.integers(-150, -90), st.integers(-60, 0), st.integers(0, 2**32 - 1))
def test_steps_below_what_fp32_holds_are_no_integers(exponent: int, weight_exponent: int, seed: int) -> None:
    """Where input · filter scale has no 24 bits in fp32, XNNPACK's factor would be wrong, and a bias without a step."""
    assume(exponent + weight_exponent < -126 <= exponent)
    generator = np.random.default_rng(seed)
    x, source = generator.integers(LOW, HIGH + 1, (2, 8)).astype(np.int8), Params(1.7 * 2.0**exponent, 0)
    weight = Weight(np.ones((3, 8), np.int8), np.full(3, 2.0**weight_exponent, np.float32))
    result = Params(2.0**-120, 0)
    b = Builder()
    value = b.op(
        "linear", input=b.activation(x, source), weight=b.weight(weight, 0), bias=b.constant(np.zeros(3, np.float32))
    )
    program = b.lowered(b.quantize(value, result))
    assert float_nodes(program)
    exact = source.centered(x).sum(1, keepdims=True) * (source.scale / result.scale * float(weight.scales[0]))
    for (got,) in b.run(program):
        # fp32 without its smallest numbers, which XNNPACK's threads flush to 0.
        assert (np.abs(got - exact) <= 1).all()


@pytest.mark.parametrize("zero_point", [LOW, -1, 0, 1, HIGH])
def test_ties_round_to_even_and_ends_saturate(zero_point: int) -> None:
    """Every integer halved, and quartered with a sum that makes all remainders; the zero point is added behind."""
    x = np.arange(LOW, HIGH + 1).astype(np.int8).reshape(-1, 1)
    for source, ratio in ((Params(1.0, 0), 0.5), (Params(0.5, 3), 0.25), (Params(2.0, HIGH), 2.0)):
        result = Params(source.scale / ratio, zero_point)
        weight, other = Weight(np.array([[1]], np.int8), np.array([1.0], np.float32)), Params(1.0, 0)
        b = Builder()
        value = b.op("linear", input=b.activation(x, source), weight=b.weight(weight, 0))
        b.check(value, result, integers.weighted(functional.linear, x, source, weight, None, result))
        b, one = Builder(), np.array([[[1]]], np.int8)
        value = b.op("bmm", self=b.activation(x[None], source), mat2=b.activation(one, other))
        b.check(value, result, integers.matrix_product(x[None], source, one, other, result))
        b, image = Builder(), x.reshape(1, 1, 16, 16)
        where = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1}
        kernel = Weight(weight.integers.reshape(1, 1, 1, 1), weight.scales)
        operands = {"input": b.activation(image, source), "weight": b.weight(kernel, 0), "bias": None}
        value = b.op("convolution", **operands, **where, transposed=False, output_padding=(0, 0))
        b.check(value, result, integers.weighted(functional.conv2d, image, source, kernel, None, result))
