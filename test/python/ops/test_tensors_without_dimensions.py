"""A tensor without dimensions takes the type of those with dimensions first, even where it does not fit, as in ATen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.meeting import check
from torch import Tensor

BOTH: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, t: torch.maximum(x, t),
    lambda x, t: torch.minimum(t, x),
    lambda x, t: torch.clamp(x, t),
    lambda x, t: torch.clamp(x, max=t),
    lambda x, t: x < t,
    lambda x, t: t >= x,
    lambda x, t: x == t,
    lambda x, t: torch.where(x > 0, x, t),
    lambda x, t: x + t,
    lambda x, t: t - x,
]

INTEGERS: list[Callable[[Tensor, Tensor], Tensor]] = [
    *BOTH,
    lambda x, t: x // t,
    lambda x, t: x % t,
    lambda x, t: torch.fmod(x, t),
    lambda x, t: torch.div(x, t, rounding_mode="trunc"),
    lambda x, t: x & t,
]

FLOATS: list[Callable[[Tensor, Tensor], Tensor]] = [
    *BOTH,
    lambda x, t: x * t,
    lambda x, t: x / t,
    lambda x, t: torch.addcmul(x, x, t),
    lambda x, t: torch.addcdiv(x, t, x),
    lambda x, t: torch.xlogy(x.abs(), t),
    lambda x, t: torch.xlogy(t, x.abs()),
    lambda x, t: torch.pow(x.abs(), t),
    lambda x, t: torch.pow(t, x / 32),
    lambda x, t: torch.hypot(x, t),
    lambda x, t: torch.atan2(x, t),
]


def all_of(functions: list[Callable[[Tensor, Tensor], Tensor]]) -> Callable[[Tensor, Tensor], list[Tensor]]:
    return lambda x, t: [function(x, t) for function in functions]


FILLS: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, t: x.masked_fill(x > 0, t),
    lambda x, t: x.index_fill(0, torch.tensor([0]), t),
]
"""PyTorch itself refuses these for numbers that do not fit."""


@pytest.mark.parametrize(
    ("dtype", "wider", "number"),
    [
        (torch.int16, torch.int32, -100_000),
        (torch.int8, torch.int32, 300),
        (torch.int8, torch.uint8, 200),
        (torch.uint8, torch.int8, -3),
        (torch.uint8, torch.int64, -3),
        (torch.int32, torch.int64, 2**40 + 5),
        (torch.float16, torch.float32, 70_000.0),
        (torch.float16, torch.int64, 70_001),
        (torch.bfloat16, torch.float32, 3.01171875),
        (torch.float16, torch.float64, 2.0004),
        (torch.float32, torch.float64, 1e39),
    ],
)
def test_number_that_does_not_fit(dtype: torch.dtype, wider: torch.dtype, number: Any) -> None:
    x, t = torch.tensor([96, -67, -8, 0, 1, 5]).to(dtype), torch.tensor(number, dtype=wider)
    check(all_of(FLOATS if dtype.is_floating_point else INTEGERS), x, t, units=4)


@pytest.mark.parametrize(
    ("dtype", "wider"),
    [(torch.int8, torch.float32), (torch.uint8, torch.int8), (torch.float16, torch.float64), (torch.bool, torch.int64)],
)
def test_filled_with_a_number_of_another_type(dtype: torch.dtype, wider: torch.dtype) -> None:
    check(all_of(FILLS), torch.tensor([3, 0, 1]).to(dtype), torch.tensor(1, dtype=wider))


CLAMPED: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, t: torch.clamp(t, x),
    lambda x, t: torch.clamp(t, max=x),
    lambda x, t: torch.clamp(t, t, x),
]


@pytest.mark.parametrize("wider", [torch.int32, torch.int64])
def test_what_is_clamped_has_no_dimensions(wider: torch.dtype) -> None:
    x = torch.tensor([1, -2, 100], dtype=torch.int8)
    check(all_of(CLAMPED), x, torch.tensor(300, dtype=wider))
