"""Tensors of integers that are made from numbers: ATen converts these to the tensor's type before it counts."""

from typing import Any

import torch

from .registry import decomposes

aten = torch.ops.aten


@decomposes(aten.linspace.default)
def linspace(start: Any, end: Any, steps: int, *, dtype: torch.dtype | None = None, **options: Any) -> Any:
    """From the integer that `start` is to the one that `end` is (ATen's `native/cpu/RangeFactoriesKernel.cpp`)."""
    if not _counts_integers(dtype, start, end):
        return NotImplemented
    assert dtype is not None
    ends = (_as_integer(start, dtype), _as_integer(end, dtype))
    return NotImplemented if ends == (start, end) else aten.linspace.default(*ends, steps, dtype=dtype, **options)


def _counts_integers(dtype: torch.dtype | None, *numbers: Any) -> bool:
    is_integer = dtype is not None and not dtype.is_floating_point and not dtype.is_complex and dtype is not torch.bool
    return is_integer and all(isinstance(each, int | float) for each in numbers)


def _as_integer(number: float, dtype: torch.dtype) -> int:
    """What C++ makes of a number: without its fraction, in unsigned types modulo their range."""
    limits = torch.iinfo(dtype)
    return int(number) % (limits.max + 1) if limits.min == 0 else int(number)
