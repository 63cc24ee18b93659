"""How far roundings move a result: what it is in fp64, what eager makes of it, and what inputs a rounding off do.

What an order of summation or a fused step changes is of that size; another computation is off by more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, decomposition_table
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

Where = Literal["all", "eager is finite", "both are finite"]
"""Which elements count."""

ROUNDINGS = 32.0
"""How many times as far from the exact result as eager's, or as one rounding moves it, ours may be."""

FLUSHED = 2**0.5
"""How many of the smallest normal number a result may lose where processors take what is below it for 0.

XNNPACK's exponential is `s + (t * s) * p` with a power s of 2 and |t| up to ln 2 / 2 (f32-raddstoreexpminusmax). Where
`t * s` is below, s is left of s·eᵗ; where that is the smallest normal number, the softmax's division takes it below,
and nothing is left of up to √2 of it.
"""


def wide(value: Tensor) -> Tensor:
    """A value in fp64, if it has fractions."""
    if value.is_complex():
        return value.to(torch.complex128)
    return value.double() if value.is_floating_point() else value


@dataclass(frozen=True)
class Noise:
    """Which way roundings go: all up (1), all down (-1), or as drawn (0).

    Up alone keeps denormal numbers, which are one of both zeros otherwise.
    """

    generator: torch.Generator
    sign: int = 0

    def moved(self, value: Tensor, dtype: torch.dtype, steps: float = 1.0) -> Tensor:
        """Numbers in fp64, each up or down by some roundings of `dtype`. 0 is one of both zeros; integers stay.

        Compositions of nodes need not keep the sign of a zero, as the rationale says.
        """
        dtype = dtype.to_real()
        if value.is_complex():
            parts = torch.view_as_real(value.resolve_conj())
            return torch.view_as_complex(self.moved(parts, dtype, steps))
        if not value.is_floating_point() or not dtype.is_floating_point:
            return value
        limits = torch.finfo(dtype)
        if self.sign <= 0:
            value = torch.where(value.abs() < limits.smallest_normal, 0.0, value)
        step = torch.clamp(value.abs() * (limits.eps / 2), min=limits.smallest_normal * limits.eps / 2) * steps
        signs = self.sign or torch.randint(0, 2, value.shape, generator=self.generator) * 2 - 1
        moved = torch.where(value.isfinite(), value + signs * step, value)
        return torch.where(value == 0, torch.zeros_like(value) * signs, moved)


class Steps(TorchFunctionMode):
    """Each call's result is some rounding off, as if it were of `dtype`: what a composed expression rounds inside."""

    def __init__(self, noise: Noise, dtype: torch.dtype):
        super().__init__()
        self._noise = noise
        self._dtype = dtype

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The call, whose result moves if it has fractions."""
        result = func(*args, **(kwargs or {}))
        return self._noise.moved(result, self._dtype) if isinstance(result, Tensor) else result


class StepsInside(TorchDispatchMode):
    """As `Steps` for what the calls are made of, down to what torch's own decompositions make of ATen's operators: the
    result of each is some roundings of `dtype` off. What makes numbers of none, as `arange` does, and integers stay."""

    def __init__(self, noise: Noise, dtype: torch.dtype, steps: float = 1.0):
        super().__init__()
        self._noise = noise
        self._dtype = dtype
        self._steps = steps

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The operator, whose results move if it computes with tensors; what is written in place stays."""
        kwargs = kwargs or {}
        if func in decompositions():
            with self, contextlib.suppress(RuntimeError, NotImplementedError):
                return decompositions()[func](*args, **kwargs)
        results = func(*args, **kwargs)
        if func._schema.is_mutable or not any(isinstance(each, Tensor) for each in tree_leaves((args, kwargs))):
            return results
        return tree_map_only(Tensor, lambda each: self._noise.moved(each, self._dtype, self._steps), results)


@cache
def decompositions() -> dict[Any, Any]:
    """ATen's operators and what torch makes of each when it exports it; of those of `SUMS_INSIDE`, always."""
    sums = [getattr(torch.ops.aten, name).default for name in SUMS_INSIDE]
    return {**core_aten_decompositions(), **{each: decomposition_table[each] for each in sums}}


SUMS_INSIDE = (
    *("gelu", "silu", "mish", "softplus", "log_sigmoid_forward"),
    *("_log_softmax", "native_layer_norm", "native_group_norm", "grid_sampler_2d"),
)
"""Operators whose results are off by more than their operands' roundings where sums inside them cancel: a mean is a
rounding off, which a sum of what it is taken from counts as often as there are elements; the sum of a log-softmax is
at least 1, whose rounding is much of a logarithm near 0."""


def lost_below(dtype: torch.dtype) -> float:
    """The unit of what any result may be off: processors may take denormal numbers for 0, and XNNPACK's kernels do."""
    return torch.finfo(dtype).smallest_normal * FLUSHED / ROUNDINGS


def noises(seed: int, count: int) -> list[Noise]:
    """`count` ways that roundings may go."""
    generator = torch.Generator().manual_seed(seed)
    return [Noise(generator, sign) for sign in (1, -1, *[0] * (count - 2))]


@dataclass(frozen=True)
class Bounds:
    """What a result is, and how far others may be from it. Complex numbers are pairs here."""

    eager: Tensor
    exact: Tensor
    unit: Tensor
    """What is allowed `ROUNDINGS` times; infinite where nothing is known."""
    certain: Tensor
    """Where integers, infinities and NaN are what they are, however it is rounded."""

    @classmethod
    def of(cls, eager: Tensor, exact: Tensor, nearby: Sequence[Tensor]) -> Bounds:
        """The bounds by results in eager's type, in fp64, and in fp64 for inputs that are a rounding off."""
        if eager.is_complex():
            eager, exact, *nearby = (torch.view_as_real(each.resolve_conj()) for each in (eager, exact, *nearby))
        if not eager.is_floating_point():
            certain = eager == exact
            for each in nearby:
                certain = certain & (each == exact)
            return cls(eager, exact, torch.zeros(eager.shape, dtype=torch.float64), certain)
        limits = torch.finfo(eager.dtype)
        others = [eager.double(), *nearby]
        unit = exact.abs() * (limits.eps / 2) + lost_below(eager.dtype)
        for each in others:
            unit = torch.maximum(unit, (each - exact).abs())
        unit = torch.where(exact.isfinite() & eager.isfinite() & ~unit.isnan(), unit, torch.inf)
        certain = ~exact.isfinite()
        for each in others:
            certain = certain & ((each == exact) | (each.isnan() & exact.isnan()))
        return cls(eager, exact, unit, certain)

    def unknown(self) -> Bounds:
        """Of the same result where nothing is known but type and shape."""
        unit = torch.full(self.eager.shape, torch.inf, dtype=torch.float64)
        return Bounds(self.eager, self.exact, unit, torch.zeros(self.eager.shape, dtype=torch.bool))

    def wrong(self, got: Any, where: Where = "all") -> str:
        """What tells a result from what it should be, by the elements that count; "" for nothing."""
        got = torch.as_tensor(got)
        if got.is_complex():
            got = torch.view_as_real(got.resolve_conj())
        if (got.dtype, got.shape) != (self.eager.dtype, self.eager.shape):
            return f"is {got.dtype}{list(got.shape)} instead of {self.eager.dtype}{list(self.eager.shape)}"
        same = (got == self.eager) | (got != got) & (self.eager != self.eager)
        if same.all():
            return ""
        if not got.is_floating_point():
            bad = ~same & self.certain
            ratio = bad.double()
        else:
            distance = (got.double() - self.exact).abs()
            near = ((distance <= ROUNDINGS * self.unit) | self.unit.isinf()) & ~self.certain
            if got.dtype != torch.float16:
                # A step inside may overflow where the result just does not; fp16 computes in fp32, where none does.
                near = near | got.isinf() & (self.exact.sign() == got.sign()) & (
                    self.exact.abs() > torch.finfo(got.dtype).max / 64
                )
            bad = ~same & ~near
            if where != "all":
                bad = bad & self.eager.isfinite()
            if where == "both are finite":
                bad = bad & got.isfinite()
            ratio = torch.where(bad, distance / self.unit, 0)
            ratio = torch.where(ratio.isnan(), torch.inf, ratio)
        if not bad.any():
            return ""
        at = int(torch.where(bad, ratio, -1).flatten().argmax())
        numbers = " ".join(
            [f"is {show(got, at)} instead of {show(self.eager, at)}"]
            + (
                [f"(exactly {show(self.exact, at)}), {float(ratio.max()):.3g} roundings off"]
                if got.is_floating_point()
                else []
            )
        )
        return f"{numbers}, in {int(bad.sum())} of {got.numel()}"


def show(values: Tensor, at: int) -> str:
    """An element as text."""
    value = values.flatten()[at].item()
    return f"{value:.9g}" if isinstance(value, float) else str(value)
