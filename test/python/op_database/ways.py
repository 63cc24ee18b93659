"""What a sample's results are on some inputs, how far others may be from them, and what tells these apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from reference.roundings import Bounds, Noise, StepsInside, Where, noises, wide
from torch import Tensor
from torch.utils import _pytree as pytree

from op_database.inputs import drawn
from op_database.samples import Sample, seed

NEARBY = 12
"""How many times a sample's inputs are moved by a rounding. By fewer some element may hardly move, as if by chance."""


@dataclass(frozen=True)
class Way:
    """Inputs of a sample, and what its results are for them."""

    name: str
    inputs: tuple[Tensor, ...]
    expected: list[Any]
    """Eager's results."""
    sample: Sample

    def bounds(self, index: int) -> Iterator[Bounds]:
        """How far a result may be off, by what is known of it: each allows more than the one before, and costs more."""
        want = torch.as_tensor(self.expected[index])
        if self.exact is not None:
            yield Bounds.of(want, wide(self.exact[index]), [])
        if self.exact is not None and self.nearby is not None:
            yield Bounds.of(want, wide(self.exact[index]), [wide(each[index]) for each in self.nearby])
        else:
            yield Bounds.of(want, wide(want), [coarse(want)])

    @cached_property
    def exact(self) -> list[Tensor] | None:
        """Eager's results in fp64; None where the operator does not compute in it."""
        return self.in_fp64(None)

    @cached_property
    def nearby(self) -> list[list[Tensor]] | None:
        """Those for inputs that are a rounding off."""
        found = [self.in_fp64(noise) for noise in noises(self.sample.index, NEARBY)]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else None

    def in_fp64(self, noise: Noise | None) -> list[Tensor] | None:
        """Eager's results in fp64 for inputs that have the type's roundings, or are one rounding off."""
        seed(1)
        moved = [noise.moved(wide(each), each.dtype) if noise else wide(each.clone()) for each in self.inputs]
        # What is summed in another order than eager's moves by roundings of the steps inside, not of inputs alone.
        types = {each.dtype for each in self.inputs}
        opmath = torch.float64 if torch.float64 in types else torch.float32
        inside = StepsInside(noise, opmath) if noise else contextlib.nullcontext()
        torch.set_default_dtype(torch.float64)
        try:
            with inside:
                results = self.sample.program(*moved)
            found = [torch.as_tensor(each) for each in pytree.tree_leaves(results)]
        except Exception:
            return None
        finally:
            torch.set_default_dtype(torch.float32)
        return (
            found if [each.shape for each in found] == [torch.as_tensor(each).shape for each in self.expected] else None
        )


def ways(sample: Sample, dtype: torch.dtype, expected: list[Any]) -> Iterator[Way]:
    """The ways to run a sample that eager runs; `expected` are its results for the inputs as drawn."""
    for name, inputs in drawn(sample, dtype):
        given = tuple(value.clone() for value in inputs)
        if name != "as drawn":
            try:
                seed(1)
                expected = pytree.tree_leaves(sample.program(*inputs))
            except Exception:  # eager refuses these numbers
                continue
        yield Way(name, given, expected, sample)


def compare_types(results: list[Any], expected: list[Any]) -> str:
    """What tells the results' number, shapes or types from the expected ones; "" for nothing."""
    if len(results) != len(expected):
        return f"{len(results)} results instead of {len(expected)}"
    for index, (got, want) in enumerate(zip(results, expected, strict=True)):
        got, want = torch.as_tensor(got), torch.as_tensor(want)
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            return f"result {index} is {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    return ""


def compare(results: list[Any], way: Way, where: Where = "all", *, integers: bool = True) -> str:
    """What tells results from what they should be, by the elements that count; "" for nothing."""
    if difference := compare_types(results, way.expected):
        return difference
    for index, (got, want) in enumerate(zip(results, way.expected, strict=True)):
        got, want = torch.as_tensor(got), torch.as_tensor(want)
        has_fractions = want.is_floating_point() or want.is_complex()
        if is_same(got, want) or not (integers or has_fractions):
            continue
        for bounds in way.bounds(index):
            difference = bounds.wrong(got, where)
            if not difference:
                break
        if difference:
            return f"result {index}, {way.name}: {difference}"
    return ""


def is_same(got: Tensor, want: Tensor) -> bool:
    """Whether each element is the same number, or NaN in both."""
    return torch.equal(got, want) or bool(((got == want) | (got.isnan() & want.isnan())).all())


def coarse(want: Tensor) -> Tensor:
    """Results off by what is allowed where nothing tells more: some roundings of the largest magnitude."""
    if not want.is_floating_point() or not want.isfinite().any():
        return wide(want)
    return wide(want) + 8 * torch.finfo(want.dtype).eps * wide(want)[want.isfinite()].abs().max()
