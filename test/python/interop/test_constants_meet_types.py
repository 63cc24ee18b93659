"""Constants that a program makes of integers and truth values, and then computes with in short floats."""

from collections.abc import Callable

import pytest
import torch
from reference.meeting import check
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
    programs = list(PROGRAMS.values())
    # One file for all: what is tested are its constants.
    check(lambda x: [program(x) for program in programs], x)


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

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", weights)

        def forward(self, x: Tensor) -> list[Tensor]:
            weight = self.get_buffer("weight")
            return [x + weight.to(dtype)[0] for dtype in (torch.float32, torch.float16, torch.bfloat16)]

    check(Layer(), torch.arange(6.0))
