"""Sums, products and means on int8, and tables of 256 entries: the integers that the arithmetic gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from numpy.typing import NDArray
from properties import integers
from properties.examples import DETERMINISTIC, examples
from properties.integers import HIGH, LOW, Expected, Params, f32
from properties.quantized import PARAMS, RATIOS, ZERO_POINTS, Builder, int8s

from xir.dialects.xnnpack.quantization import PRODUCT, SUM

SHAPES = st.sampled_from([((3, 70), (3, 70)), ((2, 3, 5), (5,)), ((4, 1), (1, 9)), ((3, 5), (1,)), ((1,), (2, 7))])


@st.composite
def relatives(draw: st.DrawFn, params: Params) -> Params:
    """Parameters whose scale is not far from that of others: the same, a power of two times it, or any."""
    factor = draw(st.one_of(st.just(1.0), st.integers(-6, 6).map(lambda e: 2.0**e), st.floats(2.0**-6, 2.0**6)))
    return Params(f32(params.scale * factor), draw(ZERO_POINTS))


def bounds_of(draw: Any, result: Params) -> tuple[float | None, float | None]:
    """A fused ReLU, or none."""
    return (0.0, None) if draw(st.booleans()) and result.zero_point < HIGH else (None, None)


@pytest.mark.parametrize(("name", "sign"), [("add.Tensor", 1), ("sub.Tensor", -1)])
@settings(max_examples=examples(13), **DETERMINISTIC)
@given(st.data())
def test_sum(name: str, sign: int, data: Any) -> None:
    shape_a, shape_b = data.draw(SHAPES)
    a, b = data.draw(int8s(shape_a)), data.draw(int8s(shape_b))
    pa = data.draw(PARAMS)
    pb, result = data.draw(relatives(pa)), data.draw(relatives(pa))
    ratios = [np.float32(p.scale) / np.float32(result.scale) for p in (pa, pb)]
    assume(all(SUM[0] <= ratio < SUM[1] for ratio in ratios))
    bounds = bounds_of(data.draw, result)
    builder = Builder()
    value = builder.op(name, self=builder.activation(a, pa), other=builder.activation(b, pb))
    if bounds != (None, None):
        value = builder.op("relu", self=value)
    builder.check(value, result, integers.sum_of(a, pa, b, pb, result, sign, bounds))


@settings(max_examples=examples(13), **DETERMINISTIC)
@given(st.data())
def test_product(data: Any) -> None:
    shape_a, shape_b = data.draw(SHAPES)
    a, b = data.draw(int8s(shape_a)), data.draw(int8s(shape_b))
    pa, pb = data.draw(PARAMS), Params(2.0 ** data.draw(st.integers(-12, 2)), data.draw(ZERO_POINTS))
    result = Params(f32(pa.scale * pb.scale / data.draw(RATIOS)), data.draw(ZERO_POINTS))
    assume(PRODUCT[0] <= np.float32(pa.scale) * np.float32(pb.scale) / np.float32(result.scale) < PRODUCT[1])
    bounds = bounds_of(data.draw, result)
    builder = Builder()
    value = builder.op("mul.Tensor", self=builder.activation(a, pa), other=builder.activation(b, pb))
    if bounds != (None, None):
        value = builder.op("relu", self=value)
    builder.check(value, result, integers.product_of(a, pa, b, pb, result, bounds))


MEANS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("mean.dim", {"dim": (2, 3), "keepdim": True}, (2, 3)),
    ("mean.dim", {"dim": (1,), "keepdim": True}, (1,)),
    ("mean.dim", {"dim": (3,), "keepdim": True}, (3,)),
    ("adaptive_avg_pool2d", {"output_size": (1, 1)}, (2, 3)),
]


@pytest.mark.parametrize(("name", "args", "axes"), MEANS, ids=str)
@settings(max_examples=examples(6), **DETERMINISTIC)
@given(st.data())
def test_mean(name: str, args: dict[str, Any], axes: tuple[int, ...], data: Any) -> None:
    shape = (
        data.draw(st.integers(1, 2)),
        data.draw(st.integers(2, 20)),
        *data.draw(st.sampled_from([(2, 2), (7, 5)])),
    )
    x, source = data.draw(int8s(shape)), data.draw(PARAMS)
    result = Params(f32(source.scale / data.draw(RATIOS)), data.draw(ZERO_POINTS))
    b = Builder()
    b.check(b.op(name, self=b.activation(x, source), **args), result, integers.mean(x, source, axes, result))


Numbers = NDArray[np.float64]
ERF = np.frompyfunc(math.erf, 1, 1)


def sigmoid(x: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-x))


def approximate_gelu(x: Numbers) -> Numbers:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FUNCTIONS: dict[str, tuple[dict[str, Any], Callable[[Numbers], Numbers]]] = {
    "abs": ({}, np.abs),
    "ceil": ({}, np.ceil),
    "clamp": ({"min": -0.5, "max": 0.75}, lambda x: np.clip(x, -0.5, 0.75)),
    "cos": ({}, np.cos),
    "div.Scalar": ({"other": 1.5}, lambda x: x / 1.5),
    "elu": ({"alpha": 0.7}, lambda x: np.where(x > 0, x, f32(0.7) * np.expm1(x))),
    "exp": ({}, np.exp),
    "floor": ({}, np.floor),
    "gelu": ({}, lambda x: x / 2 * (1 + np.asarray(ERF(x / math.sqrt(2)), np.float64))),
    "gelu ": ({"approximate": "tanh"}, approximate_gelu),
    "hardsigmoid": ({}, lambda x: np.clip(x + 3, 0, 6) / 6),
    "hardswish": ({}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "hardtanh": ({}, lambda x: np.clip(x, -1, 1)),
    "leaky_relu": ({"negative_slope": 0.1}, lambda x: np.where(x > 0, x, f32(0.1) * x)),
    "log": ({}, np.log),
    "mul.Scalar": ({"other": -1.5}, lambda x: x * -1.5),
    "neg": ({}, np.negative),
    "relu": ({}, lambda x: np.maximum(x, 0)),
    "rsqrt": ({}, lambda x: 1 / np.sqrt(x)),
    "rsub.Scalar": ({"other": 1.5}, lambda x: 1.5 - x),
    "sigmoid": ({}, sigmoid),
    "sin": ({}, np.sin),
    "softplus": ({}, lambda x: np.log1p(np.exp(x))),
    "sqrt": ({}, np.sqrt),
    "square": ({}, np.square),
    "tanh": ({}, np.tanh),
}
"""Edge op, its arguments, and the function in fp64. The space tells two forms of one op apart."""

EVERY = np.arange(LOW, HIGH + 1).astype(np.int8)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=examples(4), **DETERMINISTIC)
@given(st.data())
def test_table(name: str, data: Any) -> None:
    args, function = FUNCTIONS[name]
    source = Params(f32(data.draw(st.floats(2.0**-9, 2.0**-3))), data.draw(ZERO_POINTS))
    with np.errstate(all="ignore"):
        numbers = function((source.centered(EVERY) * source.scale).astype(np.float64))
    defined = np.isfinite(numbers)
    assume(defined.any())
    result = Params(f32(float(np.abs(numbers[defined]).max() or 1) / 127 / data.draw(RATIOS)), data.draw(ZERO_POINTS))
    assume(result.scale > 2.0**-60)
    b = Builder()
    program = b.lowered(b.quantize(b.op(name.strip(), self=b.activation(EVERY, source), **args), result))
    # Both forms of GELU are one look-up where they are less than a sixteenth of a step apart.
    # Softplus adds e^x to 1, which rounds it to 24 bits of that.
    offset = {"gelu ": 4.8e-4 if result.scale > 16 * 4.8e-4 else 0.0, "softplus": 2.0**-22}.get(name, 0.0)
    expected = integers.table(function, source, result, 2.0**-18, offset)
    for (got,) in b.run(program):
        Expected(expected.least[defined], expected.greatest[defined]).check(got[defined])


@pytest.mark.here
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_one_operator(name: str) -> None:
    """Also where another chain dequantises the same number."""
    source, result = Params(0.05, 3), Params(0.04, -5)
    b = Builder()
    value = b.activation(EVERY, source)
    outputs = [b.op(name.strip(), self=value, **FUNCTIONS[name][0]), b.op("leaky_relu", self=value, negative_slope=0.3)]
    program = b.lowered(*(b.quantize(each, result) for each in outputs))
    assert len(b.profile(program)) == 2
