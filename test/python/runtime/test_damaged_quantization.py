"""Files whose quantisation parameters are damaged: refused with one line, before anything computes with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emitter.test_whole_files import with_graph
from properties.integers import Params, Weight
from properties.quantized import Builder
from properties.test_integer_rows import dynamic
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from xir.emitter.codec import Tagged, Tree
from xir.runtime import Runtime, XirRuntimeError

GENERATOR = np.random.default_rng(0)
SOURCE, RESULT = Params(0.05, 3), Params(0.04, -5)
WINDOW: dict[str, Any] = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "output_padding": (0, 0)}


def integers(*shape: int) -> Any:
    return GENERATOR.integers(-127, 128, shape).astype(np.int8)


def activation(b: Builder, *shape: int) -> SSAValue:
    return b.activation(integers(*shape), SOURCE)


def weight(b: Builder, *shape: int, count: int = 0) -> SSAValue:
    return b.weight(Weight(integers(*shape), np.linspace(0.01, 0.02, count or shape[0], dtype=np.float32)), 0)


def by_group(b: Builder) -> SSAValue:
    weight = b.op(
        "quantized_decomposed.dequantize_per_channel_group",
        input=b.constant(GENERATOR.integers(-8, 8, (6, 64)).astype(np.int8)),
        scales=b.constant(np.ones((6, 2), np.float32)),
        zero_points=b.constant(np.zeros((6, 2), np.int32)),
        quant_min=-8,
        quant_max=7,
        dtype=i8,
        group_size=32,
        output_dtype=f32,
    )
    return b.op("linear", input=dynamic(b, np.ones((4, 64), np.float32)), weight=weight)


def convolution(b: Builder, outputs: int, groups: int) -> SSAValue:
    operands = {"input": activation(b, 1, 4, 6, 6), "weight": weight(b, outputs, 4 // groups, 3, 3)}
    return b.op("convolution", **operands, bias=b.constant(np.ones(outputs, np.float32)), groups=groups,
                transposed=False, **WINDOW)  # fmt: skip


PROGRAMS: dict[str, tuple[Callable[[Builder], SSAValue], Params | None]] = {
    "add": (lambda b: b.op("add.Tensor", self=activation(b, 4, 8), other=activation(b, 4, 8)), RESULT),
    "multiply": (lambda b: b.op("mul.Tensor", self=activation(b, 4, 8), other=activation(b, 4, 8)), RESULT),
    "sigmoid": (lambda b: b.op("sigmoid", self=activation(b, 4, 8)), RESULT),
    "clamp": (lambda b: b.op("relu", self=activation(b, 4, 8)), SOURCE),
    "requantise": (lambda b: activation(b, 4, 8), RESULT),
    "mean": (lambda b: b.op("mean.dim", self=activation(b, 1, 4, 6, 6), dim=(2, 3)), RESULT),
    "max_pool": (lambda b: b.op("max_pool2d", self=activation(b, 1, 4, 6, 6), kernel_size=(2, 2)), SOURCE),
    "pad": (lambda b: b.op("constant_pad_nd", self=activation(b, 4, 8), pad=(1, 1)), SOURCE),
    "cat": (lambda b: b.op("cat", tensors=[activation(b, 4, 8), activation(b, 4, 8)], dim=1), SOURCE),
    "linear": (lambda b: b.op("linear", input=activation(b, 4, 8), weight=weight(b, 6, 8)), RESULT),
    "linear_by_tensor": (
        lambda b: b.op("linear", input=activation(b, 4, 8), weight=weight(b, 6, 8, count=1)),
        RESULT,
    ),
    "convolution": (lambda b: convolution(b, 6, 1), RESULT),
    "depthwise": (lambda b: convolution(b, 4, 4), RESULT),
    "bmm": (
        lambda b: b.op("bmm", self=activation(b, 1, 4, 8), mat2=b.activation(integers(1, 8, 4), Params(0.05, 0))),
        RESULT,
    ),
    "dynamic": (
        lambda b: b.op("linear", input=dynamic(b, np.ones((4, 8), np.float32)), weight=weight(b, 6, 8)),
        None,
    ),
    "by_group": (by_group, None),
}

BAD_SCALES = [0.0, -1.0, math.nan, math.inf, 1e-45]
DAMAGE: dict[str, list[Tree]] = {
    "PerTensorQuant": [
        *({"scale": scale} for scale in BAD_SCALES),
        *({"zero_point": number} for number in (-129, 128, 2**31 - 1, -(2**31))),
    ],
    "PerChannelQuant": [
        *({"channel_dim": number} for number in (-1, 9)),
        *({"scale_buffer_idx": number} for number in (0, 99)),
        *({"scale_buffer_idx": 0, "scale": [scale] * 8} for scale in BAD_SCALES),
        {"scale_buffer_idx": 0, "scale": [1.0]},
    ],
    "PerChannelGroupQuant": [
        *({"group_size": number} for number in (0, -1, 1, 2, 7, 16, 48, 128, 2**31 - 1)),
        {"channel_dim": 1},
        *({"scale_buffer_idx": number} for number in (0, 99)),
    ],
    "PerTokenDynamicQuant": [{"num_nonbatch_dims": number} for number in (-1, 0, 2, 9)],
}
"""Quantisation kind -> what to write over its fields."""


def parameters(graph: Tree) -> list[Tagged]:
    """The quantisation parameters of a graph's values."""
    values = [value["xvalue_union"].value for value in graph["xvalues"]]
    return [value["quant_params"] for value in values if "quant_params" in value]


@pytest.mark.parametrize("name", PROGRAMS)
def test_damaged_parameters_are_refused_with_one_line(name: str) -> None:
    build, result = PROGRAMS[name]
    b = Builder()
    value = build(b)
    file = b.lowered(value if result is None else b.quantize(value, result)).to_executorch().buffer
    kinds: list[str] = []
    with_graph(lambda graph: kinds.extend(each.member for each in parameters(graph)), file)
    assert kinds
    for index, kind in enumerate(kinds):
        for damage in DAMAGE[kind]:
            damaged = with_graph(lambda graph, i=index, d=damage: parameters(graph)[i].value.update(d), file)
            with pytest.raises(XirRuntimeError) as error:
                Runtime.get().load_program(damaged).load_method("forward")
            assert "\n" not in str(error.value).strip()
