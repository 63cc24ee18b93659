"""Conversions that a program asks for round, whatever is before and behind them."""

from collections.abc import Callable

import pytest
import torch
from reference.meeting import check
from torch import Tensor
from torch.nn import functional

X = torch.tensor([[1.123, -2.517, 0.001], [3.3337, 100.1, -1e9]])

PROGRAMS: dict[str, Callable[[Tensor], Tensor]] = {
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


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_conversion_rounds(name: str) -> None:
    check(PROGRAMS[name], X)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_chain_in_short_floats_is_rounded_where_it_asks(dtype: torch.dtype) -> None:
    x = torch.tensor([1.0, 2.5, -3.0, 60.0]).to(dtype)
    check(lambda x: (x.float() * 1.0001).to(dtype).float() * 3, x)
