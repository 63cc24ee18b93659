"""Every finite number of fp16, and every one of bf16 that fp32 computes with, through each function of one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
import torch
from reference.modules import Function
from torch import Tensor
from torch.nn import functional

import xir
from xir.runtime import Runtime

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **{name: getattr(torch, name) for name in (
        "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor", "log", "log10",
        "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square",
        "tan", "tanh", "trunc",
    )},
    **{name: getattr(functional, name) for name in (
        "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "leaky_relu", "logsigmoid", "mish", "relu6", "selu",
        "silu", "softplus", "softshrink", "softsign", "tanhshrink",
    )},
    "celu": lambda x: functional.celu(x, 0.7),
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
}  # fmt: skip

DIRECTIONS = 1e4
"""Sines of larger numbers are those of angles that fp32 does not tell apart, so they are looked at below."""
BF16_LEAST, BF16_MOST = 2.0**-30, 2.0**60
"""XNNPACK takes denormal numbers for 0, and some kernels end before fp32 does (the page of its faults); squares, and
reciprocals' squares, stay inside of both."""

UNITS = 2.0
"""How many units in the last place a result may be further off than eager's."""
LOST = 2.0**-20
"""What differences near zero lose in fp32: GELU's sum of 1 and a number near -1, sines near multiples of π."""
NEAR_ZERO = ("gelu", "gelu_tanh", "sin", "cos", "tan")
FLUSHED = 2.0**-112
"""What a denormal number that XNNPACK takes for 0 makes of a result, times a number of up to 2^14."""
BF16_RESULTS = 1e38
"""XNNPACK's exponential is infinite from 88.4 on, which is in fp32 less than eager's last finite number."""


def every(dtype: torch.dtype) -> Tensor:
    """The numbers that are tried, in order of their bits."""
    x = torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)
    if dtype == torch.float16:
        return x[x.isfinite()]
    return x[(x == 0) | ((x.abs() >= BF16_LEAST) & (x.abs() <= BF16_MOST))]


@pytest.mark.parametrize("target", ["executorch", "xir"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_every_half(dtype: torch.dtype, target: Literal["executorch", "xir"]) -> None:
    x = every(dtype)
    model = Function(lambda x: tuple(function(x) for function in FUNCTIONS.values()))
    edge = xir.to_edge(torch.export.export(model, (x,)))
    file = edge.to_backend(xir.XnnpackPartitioner(target=target)).to_executorch().buffer
    results = Runtime.get().load_program(file).load_method("forward").execute([x])
    wrong: list[str] = []
    for (name, function), result in zip(FUNCTIONS.items(), results, strict=True):
        ours, eager, exact = torch.as_tensor(result).double(), function(x).double(), function(x.double()).to(dtype)
        off = difference(ours, exact) > difference(eager, exact) + UNITS
        lost = LOST if name in NEAR_ZERO else FLUSHED
        if name == "tanhshrink":
            # x - tanh(x): what the hyperbolic tangent may be off by, where XNNPACK has a kernel on halves for it.
            lost = UNITS * unit(x.double().tanh(), dtype)
        off &= (ours - eager).abs().nan_to_num(torch.inf) > lost
        off |= ours.isnan() != eager.isnan()
        if name == "rsqrt":
            off &= x != 0  # NaN in XNNPACK: the page of its faults
        if name in ("sin", "cos", "tan"):
            off &= x.abs() <= DIRECTIONS
        if dtype == torch.bfloat16:
            off &= eager.abs() < BF16_RESULTS
        if off.any():
            first = int(torch.nonzero(off)[0])
            wrong.append(f"{int(off.sum())} of {name}, at {x[first]}: {ours[first]}, eager has {eager[first]}")
    assert not wrong


def difference(value: Tensor, exact: Tensor) -> Tensor:
    """In units in the last place of the exact result's type; 0 where both are the same infinity, or NaN."""
    wide = exact.double()
    units = (value - wide).abs() / unit(wide, exact.dtype)
    return torch.where((value == wide) | (value.isnan() & wide.isnan()), 0.0, units.nan_to_num(torch.inf))


def unit(wide: Tensor, dtype: torch.dtype) -> Tensor:
    """One in the last place of a type, at some numbers."""
    limits = torch.finfo(dtype)
    return wide.abs().clamp(min=limits.smallest_normal) * limits.eps
