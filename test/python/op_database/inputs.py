"""What a compiled sample is run on: its own inputs, and others of its shapes in several sizes, with special values."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from op_database.samples import Sample

SIZES = {"1e-3": 1e-3, "1": 1.0, "30": 30.0}
"""The largest magnitudes of numbers."""

LIMIT = 0.9
"""Of the largest number of a type: what is near its limit."""

LOOPS = ("special.laguerre_polynomial_l", "special.legendre_polynomial_p")
"""Operators that take integers as a number of steps, of which eager itself computes thousands of millions near the
limit."""

WAYS = ("as drawn", *SIZES, "limit", "special")


def drawn(sample: Sample, dtype: torch.dtype) -> Iterator[tuple[str, tuple[Tensor, ...]]]:
    """The ways to fill a sample's inputs, each by its name; tensors of other types, such as masks, stay as they are."""
    yield "as drawn", sample.copies()
    if not any(changes(value, dtype) for value in sample.inputs) or dtype == torch.bool:
        return
    generator = torch.Generator().manual_seed(sample.index)
    if not dtype.is_floating_point:
        if sample.name in LOOPS:
            return
        top = torch.iinfo(dtype).max
        yield (
            "limit",
            tuple(placed(value, dtype, [top, top - 1, top // 2, 0, 1], generator) for value in sample.copies()),
        )
        return
    for name, size in SIZES.items():
        yield name, tuple(scaled(value, dtype, size) for value in sample.copies())
    limits = torch.finfo(dtype)
    yield "limit", tuple(scaled(value, dtype, LIMIT * limits.max) for value in sample.copies())
    special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), limits.smallest_normal / 4, -limits.tiny / 2]
    yield "special", tuple(placed(value, dtype, special, generator) for value in sample.copies())


def changes(value: Tensor, dtype: torch.dtype) -> bool:
    """Whether a tensor holds numbers that may be any."""
    return value.dtype == dtype and value.numel() > 0


def scaled(value: Tensor, dtype: torch.dtype, size: float) -> Tensor:
    """A tensor whose largest magnitude is `size`."""
    if not changes(value, dtype):
        return value
    finite = torch.where(value.isfinite(), value, torch.zeros_like(value))
    largest = float(finite.abs().max().double())
    factor = size / largest if largest else 1.0
    return (finite.double() * factor).to(dtype)


def placed(value: Tensor, dtype: torch.dtype, numbers: list[float] | list[int], generator: torch.Generator) -> Tensor:
    """A tensor of which each third element is one of `numbers`."""
    if not changes(value, dtype):
        return value
    chosen = torch.tensor(numbers).to(dtype)[torch.randint(0, len(numbers), value.shape, generator=generator)]
    return torch.where(torch.rand(value.shape, generator=generator) < 1 / 3, chosen, value)
