"""Every function that makes a tensor of numbers alone, in each type, beside eager.

ATen counts in a type of its own before it converts: integers of `linspace` begin at the integer that its start is,
those of `arange` between fractions are as many as in the range that is given, windows of halves are made in fp32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
import torch
from reference.meeting import check
from torch import Tensor

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool]
DTYPES = [*FLOATS, *INTEGERS]

NUMBERS = [0, 1, -3, 100, 1000, 70000, 2**40, 0.0, 0.5, 2.9, -2.5, 65520.0, 1e-8, 1e39]
RANGES = [
    *((5,), (0,), (2.9,), (-3, 3), (3, 3), (0.5, 3.7), (5.9, 1, -2.7), (5, -5.5, -2), (0, 1, 0.1), (0, 10, 1.5)),
    *((100, 130, 7), (-2.5, 2.5, 0.5), (3, 9, 2), (250, 260), (2047, 2052)),
]
ENDS = [(0, 4), (0.5, 3.7), (-2.9, 2.9), (3, -3), (1, 1), (-10, 100), (0, 255), (1, 1000), (0.1, 70000.0)]
LENGTHS = [0, 1, 2, 5]

Maker = Callable[..., Tensor]

# Functions of a type, and the arguments that each is called with before it.
MAKERS: dict[str, tuple[Maker, list[tuple[Any, ...]]]] = {
    "full": (lambda s, d: torch.full((2, 3), s, dtype=d), [(each,) for each in NUMBERS]),
    "full of the number's type": (lambda s, d: torch.full((2, 3), s).to(d), [(each,) for each in NUMBERS]),
    "full_like": (lambda s, d: torch.full_like(torch.zeros(2, 3, dtype=d), s), [(each,) for each in NUMBERS]),
    "new_full": (lambda s, d: torch.zeros(1, dtype=d).new_full((4,), s), [(each,) for each in NUMBERS]),
    "fill_": (lambda s, d: torch.empty(4, dtype=d).fill_(s), [(each,) for each in NUMBERS]),
    "scalar_tensor": (lambda s, d: torch.scalar_tensor(s, dtype=d), [(each,) for each in NUMBERS]),
    "tensor": (lambda s, d: torch.tensor([s, 1, s], dtype=d), [(each,) for each in NUMBERS]),
    "arange": (lambda *a: torch.arange(*a[:-1], dtype=a[-1]), RANGES),
    "arange of the numbers' type": (lambda *a: torch.arange(*a[:-1]).to(a[-1]), RANGES),
    "linspace": (
        lambda *a: torch.linspace(*a[:-1], dtype=a[-1]),
        [(*ends, n) for ends, n in product(ENDS, LENGTHS)],
    ),
    "linspace of tensors": (
        lambda a, b, d: torch.linspace(torch.tensor(a), torch.tensor(b), 5, dtype=d),
        [(0, 4), (-2.0, 2.0), (1, 100)],
    ),
    "logspace": (lambda *a: torch.logspace(*a[:-1], dtype=a[-1]), [(0, 2, 3), (-1, 1, 4, 2.0), (0, 6, 7, 2)]),
    "eye": (lambda *a: torch.eye(*a[:-1], dtype=a[-1]), [(0,), (3,), (2, 4), (4, 2)]),
    "ones": (lambda *a: torch.ones(*a[:-1], dtype=a[-1]), [(3,), (0, 2), (2, 1, 2)]),
    "zeros": (lambda *a: torch.zeros(*a[:-1], dtype=a[-1]), [(3,), (0, 2)]),
    "tril_indices": (lambda *a: torch.tril_indices(*a[:-1]).to(a[-1]), [(3, 4, 0), (4, 3, -1), (2, 2, 1)]),
    "triu_indices": (lambda *a: torch.triu_indices(*a[:-1]).to(a[-1]), [(3, 4, 0), (4, 3, -1), (2, 2, 1)]),
    "vander": (lambda n, d: torch.vander(torch.arange(4).to(d), n), [(1,), (3,)]),
    "diag_embed": (lambda n, d: torch.diag_embed(torch.arange(n).to(d), 1), [(3,)]),
    "hann_window": (lambda n, p, d: torch.hann_window(n, p, dtype=d), list(product([1, 2, 7], [True, False]))),
    "hamming_window": (lambda n, p, d: torch.hamming_window(n, p, dtype=d), list(product([1, 7], [True, False]))),
    "blackman_window": (lambda n, p, d: torch.blackman_window(n, p, dtype=d), list(product([1, 7], [True, False]))),
    "bartlett_window": (lambda n, p, d: torch.bartlett_window(n, p, dtype=d), list(product([1, 7], [True, False]))),
}

WINDOWS = {name for name in MAKERS if name.endswith("window")}
NO_BOOLS = WINDOWS | {"arange", "linspace of tensors", "logspace"}

# Of sines and powers that a vector of eager's rounds otherwise.
UNITS = 4


def is_defined(name: str, arguments: tuple[Any, ...], dtype: torch.dtype) -> bool:
    """Whether C++ defines what the numbers become, and torch exports it.

    It does not for a fraction that no integer of the type holds; and torch takes a step of less than 1 between integers
    for 0 while it infers the shape.
    """
    if dtype.is_floating_point or dtype == torch.bool:
        return True
    limits = torch.iinfo(dtype)
    if name == "arange" and len(arguments) == 3 and not int(arguments[2]):
        return False
    return all(isinstance(each, int) or limits.min <= int(each) <= limits.max for each in arguments)


def made(dtype: torch.dtype) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """The calls that eager takes, with a name for each."""
    for name, (maker, calls) in MAKERS.items():
        for arguments in calls:
            if not is_defined(name, arguments, dtype):
                continue
            try:
                maker(*arguments, dtype)
            except (RuntimeError, TypeError, ValueError, OverflowError):
                continue
            yield f"{name}{arguments}", lambda maker=maker, arguments=arguments: maker(*arguments, dtype)


def compare(dtype: torch.dtype, calls: dict[str, Callable[[], Tensor]]) -> None:
    def program(x: Tensor) -> list[Tensor]:
        return [x] + [call() for call in calls.values()]

    check(program, torch.zeros(1), names=["x", *calls], units=UNITS if dtype.is_floating_point else 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_made_of_numbers(dtype: torch.dtype) -> None:
    """A fourth of the calls for each type, and all of them in some type."""
    calls = list(made(dtype))
    left_out = set(MAKERS) - {name.partition("(")[0] for name, _ in calls}
    assert left_out <= (NO_BOOLS if dtype == torch.bool else WINDOWS)
    compare(dtype, dict(calls[DTYPES.index(dtype) % 4 :: 4]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_made_of_all_numbers(dtype: torch.dtype) -> None:
    compare(dtype, dict(made(dtype)))
