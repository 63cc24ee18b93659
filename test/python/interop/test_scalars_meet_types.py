"""Every op that takes a number beside a tensor, with numbers of each kind and tensors of each type, beside eager.

ATen keeps some numbers beside halves as they are, and rounds others first; integers wrap around. Numbers that eager
refuses beside a type (`fill` of int8 with 300) are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from reference.meeting import check
from torch import Tensor

from xir.dialects import edge

aten = torch.ops.aten

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool]

NUMBERS = [
    *(0, 1, 3, -2, 300, 70000, 2**24 + 1, True, False),
    *(0.0, -0.0, 0.1, -2.5, 1e-9, 1e-30, 65504.0, 65520.0, 70000.0, 1e30, 1e39, math.inf, -math.inf, math.nan),
]


def matrices(x: Tensor) -> Tensor:
    return x.reshape(2, 3)[:, :2]


def factor(number: float) -> float:
    """A factor of products of matrices, whose sums are added in no given order: infinities are left out."""
    if not math.isfinite(number):
        raise TypeError(number)
    return number


def count(number: float) -> float:
    """The order of a norm, or how much less than all elements a mean is of: no value that meets elements."""
    if number not in (0, 1, 2, math.inf):
        raise TypeError(number)
    return number


CALLS: dict[str, list[Callable[[Tensor, Any], Tensor]]] = {
    "fill.Scalar": [aten.fill.Scalar],
    "pow.Tensor_Scalar": [aten.pow.Tensor_Scalar],
    "pow.Scalar": [lambda x, s: aten.pow.Scalar(s, x)],
    "hardtanh": [lambda x, s: aten.hardtanh(x, -abs(s), abs(s))],
    "elu": [aten.elu, lambda x, s: aten.elu(x, 1, s), lambda x, s: aten.elu(x, 1, 1, s)],
    "leaky_relu": [aten.leaky_relu],
    "softplus": [aten.softplus, lambda x, s: aten.softplus(x, 1, s)],
    "clamp": [lambda x, s: aten.clamp(x, s), lambda x, s: aten.clamp(x, None, s), lambda x, s: aten.clamp(x, 1, s)],
    "add.Tensor": [lambda x, s: aten.add.Tensor(x, x, alpha=s)],
    "add.Scalar": [aten.add.Scalar, lambda x, s: aten.add.Scalar(x, 2, s)],
    "sub.Tensor": [lambda x, s: aten.sub.Tensor(x, x.abs(), alpha=s)],
    "sub.Scalar": [aten.sub.Scalar],
    "rsub.Scalar": [aten.rsub.Scalar, lambda x, s: aten.rsub.Scalar(x, 2, s)],
    "mul.Scalar": [aten.mul.Scalar],
    "div.Scalar": [aten.div.Scalar],
    "div.Scalar_mode": [
        lambda x, s: aten.div.Scalar_mode(x, s, rounding_mode="floor"),
        lambda x, s: aten.div.Scalar_mode(x, s, rounding_mode="trunc"),
        lambda x, s: x // s,
    ],
    "fmod.Scalar": [aten.fmod.Scalar],
    "remainder.Scalar": [aten.remainder.Scalar],
    **{f"bitwise_{name}.Scalar": [getattr(aten, f"bitwise_{name}").Scalar] for name in ("and", "or", "xor")},
    **{f"{name}.Scalar": [getattr(aten, name).Scalar] for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "masked_fill.Scalar": [
        lambda x, s: aten.masked_fill.Scalar(x, x > 0, s),
        lambda x, s: aten.masked_fill.Scalar(x, torch.tensor([True, False] * 3), s),
    ],
    "addmm": [
        lambda x, s: aten.addmm(matrices(x), matrices(x), matrices(x), alpha=factor(s)),
        lambda x, s: aten.addmm(matrices(x), matrices(x), matrices(x), beta=factor(s)),
    ],
    "baddbmm": [lambda x, s: aten.baddbmm(*[matrices(x)[None]] * 3, beta=1, alpha=factor(s))],
    "linalg_vector_norm": [lambda x, s: aten.linalg_vector_norm(x, count(s))],
    "var.correction": [lambda x, s: aten.var.correction(x, None, correction=count(s))],
    "constant_pad_nd": [lambda x, s: aten.constant_pad_nd(x, [1, 2], s)],
    "scatter.value": [lambda x, s: aten.scatter.value(x, 0, torch.tensor([0, 3]), s)],
    "arange.start_step": [lambda x, s: aten.arange.start_step(0, 5 * s, s, dtype=x.dtype)],
    "full": [lambda x, s: aten.full([3], s, dtype=x.dtype)],
    "full_like": [aten.full_like, lambda x, s: aten.full_like(x, s) * x],
    "scalar_tensor": [lambda x, s: aten.scalar_tensor(s, dtype=x.dtype)],
    # Numbers that programs give by other operators.
    "where": [lambda x, s: torch.where(x > 0, x, s), lambda x, s: torch.where(x > 0, s, 1)],
    "of no dimensions": [
        lambda x, s: x * torch.tensor(s),
        lambda x, s: torch.tensor(s) * x,
        lambda x, s: x / torch.tensor(s),
        lambda x, s: x + torch.tensor(s),
        lambda x, s: x % torch.tensor(s),
        lambda x, s: x // torch.tensor(s),
        lambda x, s: x > torch.tensor(s),
        lambda x, s: torch.maximum(x, torch.tensor(s)),
    ],
    "reflected": [lambda x, s: s / x, lambda x, s: s - x, lambda x, s: s // x, lambda x, s: s % x],
    "threshold": [lambda x, s: aten.threshold(x, s, s)],
}
"""Edge op, or what has none of its own -> calls of it with a tensor and a number."""

NO_ARITHMETIC = {"torchao.choose_qparams_affine", "torchao.quantize_affine", "torchao.dequantize_affine"}
"""Ops whose numbers are the ends of a range of integers."""

UNITS = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.float64: 4}
"""Units in the last place: a number of fp16 and the result are rounded by half of one each, sums of products of fp32 by
one each."""

EXPONENT = 100
"""Powers are e^(exponent·log x) in fp32: an error of the product is one of the result, as many times as that is large,
which is 88 at most. And log(1 + e^x) near 0 is the sum of numbers near 1, whose units count."""


def test_every_op_that_takes_a_number_is_here() -> None:
    taking = {
        name.removeprefix("edge.")
        for name, op in edge.OPS.items()
        if any(each.type.base == "Scalar" for each in op.row.schema.arguments)
    }
    assert taking - NO_ARITHMETIC - set(CALLS) == set()


def given(dtype: torch.dtype) -> Tensor:
    if dtype is torch.bool:
        return torch.tensor([True, False, True, True, False, False])
    if dtype.is_floating_point:
        return torch.tensor([1.0, -2.5, 0.0, 3.0, 100.0, -0.25]).to(dtype)
    return torch.tensor([1, -2 if dtype.is_signed else 2, 0, 3, 100, 127]).to(dtype)


def units(name: str, dtype: torch.dtype) -> float:
    if dtype in (torch.float32, *INTEGERS):
        return EXPONENT if name in ("pow.Scalar", "pow.Tensor_Scalar", "softplus") else 4
    return UNITS[dtype]


def is_computed(function: Callable[[Tensor, Any], Tensor], x: Tensor, number: float) -> bool:
    """Whether eager takes the number."""
    try:
        return function(x, number).numel() > 0
    except (RuntimeError, TypeError, IndexError, ZeroDivisionError):
        return False


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        *product([torch.float16], [70000, True, 0.1, math.inf]),
        *product([torch.bfloat16], [3, 0.1, 1e-9, math.nan]),
        *product([torch.float32], [0, 1e39, -math.inf]),
        *product([torch.int32], [3, 2.5]),
        *product([torch.int8], [300, True]),
        *product([torch.bool, torch.float64], [0.1]),
    ],
    ids=str,
)
def test_numbers_meet_types_as_in_eager(dtype: torch.dtype, number: float) -> None:
    """One program of all calls that have one bound."""
    x = given(dtype)
    taken = [(name, f) for name, functions in CALLS.items() for f in functions if is_computed(f, x, number)]
    for bound in {units(name, dtype) for name, _ in taken}:
        names, functions = zip(*((name, f) for name, f in taken if units(name, dtype) == bound), strict=True)
        check(lambda x, fs=functions: [f(x, number) for f in fs], x, units=bound, names=names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_all_numbers_meet_types_as_in_eager(name: str, dtype: torch.dtype) -> None:
    x, problems = given(dtype), []
    for index, function in enumerate(CALLS[name]):
        for number in NUMBERS:
            if is_computed(function, x, number):
                try:
                    check(lambda x, f=function, s=number: f(x, s), x, units=units(name, dtype))
                except Exception as error:  # all of them are wanted
                    problems.append(f"call {index} of {number}: {type(error).__name__} {str(error)[:200]}")
    assert not problems, "\n".join(problems)
