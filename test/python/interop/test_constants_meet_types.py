"""Constants that a program makes of integers and truth values, and then computes with in short floats; and conversions
that a program asks for, which round whatever is before and behind them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.meeting import check
from reference.modules import Calling
from torch import Tensor
from torch.nn import functional

DTYPES = [torch.bfloat16, torch.float16, torch.float32, torch.float64]

PROGRAMS: dict[str, Callable[[Tensor], Tensor]] = {
    "ones": lambda x: x * torch.ones(6, dtype=x.dtype),
    "ones_like": lambda x: x + torch.ones_like(x),
    "full": lambda x: x * torch.full((6,), 3, dtype=x.dtype),
    "full_bool": lambda x: x + torch.full((6,), True),
    "full_like": lambda x: torch.full_like(x, 7) - x,
    "new_full": lambda x: x * x.new_full((6,), 5),
    "arange": lambda x: x + torch.arange(6, dtype=x.dtype),
    "arange_int": lambda x: x + torch.arange(6),
    "eye": lambda x: x @ torch.eye(6, dtype=x.dtype),
    "eye_int": lambda x: x @ (2 * torch.eye(6, dtype=torch.int32)).to(x.dtype),
    "tensor": lambda x: x * torch.tensor(3),
    "tensor_of_bool": lambda x: x * torch.tensor(True),
    "tensor_of_ints": lambda x: x + torch.tensor([3, 1, -2, 300, 4, 5], dtype=torch.int32),
    "clamp": lambda x: torch.clamp(x, torch.tensor(-1), torch.tensor(1)),
    "maximum": lambda x: torch.maximum(x, torch.tensor(2)),
    "one_hot": lambda x: x * functional.one_hot(torch.arange(6) % 3, 6)[1],
    "linear": lambda x: functional.linear(x.view(1, 6), torch.ones(3, 6, dtype=x.dtype)),
    "linear_bias": lambda x: functional.linear(x.view(1, 6), torch.eye(6, dtype=x.dtype), torch.arange(6).to(x.dtype)),
    "linear_of_bools": lambda x: functional.linear(x.view(1, 6), (torch.arange(18).view(3, 6) > 4).to(x.dtype)),
    "where": lambda x: torch.where(torch.tensor([True, False] * 3), x, torch.tensor(4)),
    "cat": lambda x: torch.cat([x, torch.ones(2, dtype=torch.int64).to(x.dtype)]),
    "pad": lambda x: functional.pad(x, (1, 2), value=3),
    "masked_fill": lambda x: x.masked_fill(torch.tensor([True, False] * 3), 2),
    "select": lambda x: x * torch.tensor([[1, 2], [3, 4]])[1, 0],
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_integers_become_floats(dtype: torch.dtype) -> None:
    x = torch.tensor([1.0, -2.5, 0.0, 3.0, 96.0, -0.25], dtype=dtype)
    # One file for all: what is tested are its constants.
    check(lambda x: [program(x) for program in PROGRAMS.values()], x, names=list(PROGRAMS))


FILLED: dict[str, Callable[[Tensor], Tensor]] = {
    "triu": lambda x: x.triu(1),
    "tril": lambda x: x.tril(-1),
    "masked_fill": lambda x: x.masked_fill(torch.eye(5) > 0, 3),
    "masked_fill_of_float": lambda x: x.masked_fill(torch.eye(5) > 0, 3.0),
    "masked_fill_of_bool": lambda x: x.masked_fill(torch.eye(5) > 0, True),
    "where": lambda x: torch.where(torch.eye(5) > 0, x, torch.ones((), dtype=x.dtype)),
    "where_of_both": lambda x: torch.where(torch.eye(5) > 0, x, x.flip(0)),
}
INTEGERS = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


@pytest.mark.parametrize("dtype", [*INTEGERS, *DTYPES], ids=str)
def test_elements_are_filled_in(dtype: torch.dtype) -> None:
    if dtype.is_floating_point or dtype == torch.bool:
        x = torch.arange(-12, 13).reshape(5, 5).to(dtype)
    else:
        limits = torch.iinfo(dtype)
        x = torch.tensor([limits.min, limits.max, 0, 1, limits.max - 1] * 5, dtype=dtype).reshape(5, 5)
    check(lambda x: [program(x) for program in FILLED.values()], x, names=list(FILLED))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_weights_of_eight_bits_are_widened(dtype: torch.dtype) -> None:
    weights = torch.randn(4, 6, generator=torch.Generator().manual_seed(0)).to(dtype)

    def widened(m: Any, x: Tensor) -> list[Tensor]:
        return [x + m.weight.to(wide)[0] for wide in (torch.float32, torch.float16, torch.bfloat16)]

    check(Calling(widened, weight=weights), torch.arange(6.0))


CONVERSIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "fp16": lambda x: x.half(),
    "fp16 and back": lambda x: x.half().float(),
    "bf16 and back": lambda x: x.bfloat16().float(),
    "fp16 and back, before": lambda x: x.half().float() * 2,
    "bf16 and back, before": lambda x: x.bfloat16().float() * 3,
    "behind": lambda x: (x * 3).half().float(),
    "between": lambda x: torch.relu(x).bfloat16().float() * 3,
    "across a move": lambda x: x.relu().half().t().float() + 1,
    "behind a product": lambda x: functional.linear(x[:1], torch.eye(3)).bfloat16().float() + 1,
    "to both": lambda x: (x * 3).half().float().bfloat16().float() * 3,
    "through fp64": lambda x: (x * 3).double().float() * 3,
    "of fp64": lambda x: (x.double() * 0.1).float().double() * 3,
    "to integers": lambda x: (x * 3).clamp(-100, 100).int().float() * 3,
    "to truth": lambda x: (x * 3).bool().float() * 3,
    "type_as": lambda x: (x * 3).type_as(torch.zeros((), dtype=torch.bfloat16)).float() + 1,
    "copy_": lambda x: torch.empty(2, 3, dtype=torch.half).copy_(x * 3).float() + 1,
}


def test_a_conversion_rounds() -> None:
    x = torch.tensor([[1.123, -2.517, 0.001], [3.3337, 100.1, -1e9]])
    check(lambda x: [program(x) for program in CONVERSIONS.values()], x, names=list(CONVERSIONS))
    # And alone, as what else is read of an input decides whether it is converted where it comes in.
    for name in ("fp16", "fp16 and back", "bf16 and back"):
        check(CONVERSIONS[name], x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_chain_in_short_floats_is_rounded_where_it_asks(dtype: torch.dtype) -> None:
    x = torch.tensor([1.0, 2.5, -3.0, 60.0]).to(dtype)
    check(lambda x: (x.float() * 1.0001).to(dtype).float() * 3, x)
