"""Fully connected nodes whose input is quantised at run time, by row: 8-bit and 4-bit filters.

Integers and their sums are exact; what is left is the product with fp32 scales, whose rounding bounds the difference.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from numpy.typing import NDArray
from properties.examples import DETERMINISTIC, examples
from properties.quantized import Builder
from xdsl.dialects.builtin import TensorType, f32, f64, i8, i64
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.quantization import DynamicType

Floats = NDArray[np.float32]


def row_integers(x: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """The integers of each row, its zero point, and its scale.

    The range includes 0, and the zero point is taken from the end with the smaller error.
    Source: `src/xnnpack/quantization.h`, which `choose_qparams_per_token_asymmetric` follows.

    No element may lie between two integers: XNNPACK rounds ties to even, and KleidiAI, which it takes on Arm for
    filters with scales by block, away from zero (`kai_run_lhs_quant_pack_qai8dxp_f32`).
    """
    low, high = np.minimum(x.min(1, keepdims=True), np.float32(0)), np.maximum(x.max(1, keepdims=True), np.float32(0))
    empty = low == high
    inverse = np.where(empty, np.float32(1), np.float32(255) / np.where(empty, np.float32(1), high - low))
    inverse = inverse.astype(np.float32)
    ends = -128 + low * inverse, 127 + high * inverse
    zero_point = np.where(ends[0] + ends[1] > 0, -128 - low * inverse, 127 - high * inverse)
    zero_point = np.rint(np.clip(zero_point, -128, 127)).astype(np.int64)
    assume((x * inverse % 1 != 0.5).all())
    integers = np.clip(np.rint(x * inverse).astype(np.int64) + zero_point, -128, 127)
    return integers, zero_point, np.float32(1) / inverse


@st.composite
def rows(draw: st.DrawFn, count: int, size: int) -> Floats:
    """Rows of zeros, of one sign, of equal numbers, of single outliers, of very different sizes."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made: list[NDArray[np.float64]] = []
    for _ in range(count):
        numbers = generator.standard_normal(size)
        kind = draw(st.sampled_from(["any", "zeros", "positive", "negative", "equal", "outlier"]))
        numbers = {
            "any": numbers,
            "zeros": numbers * 0,
            "positive": np.abs(numbers) + 3,
            "negative": -np.abs(numbers),
            "equal": np.full(size, numbers[0]),
            "outlier": np.where(np.arange(size) == 0, 1000.0, numbers),
        }[kind]
        made.append(numbers * 2.0 ** draw(st.integers(-12, 12)))
    return np.stack(made).astype(np.float32)


def dynamic(b: Builder, x: Floats) -> SSAValue:
    """`x` quantised by row and dequantised."""
    value = b.input(x)
    choose = edge.OPS["edge.quantized_decomposed.choose_qparams_per_token_asymmetric"]
    of_rows = [TensorType(element, (*x.shape[:-1], 1)) for element in (f64, i64)]
    chosen = choose.build_from({"input": value, "dtype": i8}, of_rows)
    b.add(chosen)
    span = {
        "scales": chosen.results[0],
        "zero_points": chosen.results[1],
        "quant_min": -128,
        "quant_max": 127,
        "dtype": i8,
    }
    integers = b.op("quantized_decomposed.quantize_per_token", input=value, **span)
    return b.op("quantized_decomposed.dequantize_per_token", input=integers, **span, output_dtype=f32)


def check(
    b: Builder, value: SSAValue, expected: NDArray[np.float64], size: NDArray[np.float64], roundings: int
) -> None:
    """Both runtimes compute `expected` but for so many roundings to 24 bits of numbers up to `size`."""
    program = b.lowered(value)
    (node,) = (op for op in program.module.walk() if isinstance(op, xnnpack.FullyConnectedOp))
    assert isinstance(element_type(node.input), DynamicType)
    for (got,) in b.run(program):
        off = np.abs(got.astype(np.float64) - expected) / np.maximum(size, 1e-300)
        assert off.max() <= roundings * 2.0**-24, f"{off.max() * 2**24:.3g} roundings"


@settings(max_examples=examples(15), **DETERMINISTIC)
@given(st.data())
def test_filter_of_8_bits(data: Any) -> None:
    count, inputs, outputs = (data.draw(st.integers(1, high)) for high in (5, 70, 9))
    x = data.draw(rows(count, inputs))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    filters = generator.integers(-127, 128, (outputs, inputs)).astype(np.int8)
    scales = (generator.uniform(1, 2, outputs) * 2.0 ** data.draw(st.integers(-12, 2))).astype(np.float32)
    bias = generator.standard_normal(outputs).astype(np.float32)
    b = Builder()
    weight = b.op(
        "quantized_decomposed.dequantize_per_channel",
        input=b.constant(filters),
        scales=b.constant(scales),
        zero_points=b.constant(np.zeros(outputs, np.int64)),
        axis=0,
        quant_min=-127,
        quant_max=127,
        dtype=i8,
    )
    value = b.op("linear", input=dynamic(b, x), weight=weight, bias=b.constant(bias))
    integers, zero_point, scale = row_integers(x)
    sums = (integers - zero_point) @ filters.astype(np.int64).T
    products = sums * scale.astype(np.float64) * scales.astype(np.float64)
    # The sum as fp32, two products, the bias added.
    check(b, value, products + bias, np.abs(products) + np.abs(bias), 4)


@pytest.mark.parametrize("group", [32, 64])
@settings(max_examples=examples(8), **DETERMINISTIC)
@given(st.data())
def test_filter_of_4_bits_by_group(group: int, data: Any) -> None:
    count, groups, outputs = (data.draw(st.integers(1, high)) for high in (5, 4, 9))
    inputs = group * groups
    x = data.draw(rows(count, inputs))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    filters = generator.integers(-8, 8, (outputs, inputs)).astype(np.int8)
    exponents = generator.integers(-12, 3, (outputs, groups))
    # XNNPACK holds the scales of groups in bf16: these are numbers of 8 bits.
    scales = (generator.integers(128, 256, (outputs, groups)) / 128.0 * 2.0**exponents).astype(np.float32)
    b = Builder()
    weight = b.op(
        "quantized_decomposed.dequantize_per_channel_group",
        input=b.constant(filters),
        scales=b.constant(scales),
        zero_points=b.constant(np.zeros((outputs, groups), np.int32)),
        quant_min=-8,
        quant_max=7,
        dtype=i8,
        group_size=group,
        output_dtype=f32,
    )
    value = b.op("linear", input=dynamic(b, x), weight=weight)
    integers, zero_point, scale = row_integers(x)
    blocks = filters.astype(np.int64).reshape(1, outputs, groups, group)
    by_group = scale.astype(np.float64)[:, :, None] * scales.astype(np.float64)

    def sums(origin: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of products, and of what the zero point adds to them, for integers counted from `origin`."""
        values, zeros = integers - origin, (zero_point - origin).reshape(count, 1, 1)
        return (values.reshape(count, 1, groups, group) * blocks).sum(3), zeros * blocks.sum(3)

    products, zeros = sums(0)
    # The zero point is taken off at the end, so that numbers of that size are rounded as well. Where the processor
    # multiplies unsigned numbers, the kernel counts from -128.
    size = sum(((np.abs(each) * by_group).sum(2) for each in (*sums(0), *sums(-128))), np.zeros((count, outputs)))
    check(b, value, ((products - zeros) * by_group).sum(2), size, 2 * groups + 4)
