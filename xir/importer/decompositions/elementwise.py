"""Operators on one element at a time, in terms of others."""

from typing import Any

import torch

from .registry import decomposes, in_opmath

aten = torch.ops.aten


def finite(value: torch.Tensor) -> torch.Tensor:
    """`value` with the largest numbers for infinities, so that the difference of two infinities is a number."""
    largest = torch.finfo(value.dtype).max
    return value.clamp(-largest, largest)


@decomposes(aten.celu.default)
def celu(self: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
    """ELU of another slope."""
    return aten.elu(self, alpha, 1.0, 1.0 / alpha)


@decomposes(aten.softshrink.default)
def softshrink(self: torch.Tensor, lambd: float = 0.5) -> torch.Tensor:
    """What is left beyond ±lambd."""
    return self - self.clamp(-lambd, lambd)


@decomposes(aten.rrelu_with_noise.default, aten.rrelu_with_noise_functional.default)
def rrelu_with_noise(
    self: torch.Tensor,
    noise: torch.Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: None = None,
) -> Any:
    """In inference a leaky ReLU of the mean slope."""
    return aten.leaky_relu(self, (lower + upper) / 2)


@decomposes(aten.round.decimals)
@in_opmath
def round_decimals(self: torch.Tensor, *, decimals: int) -> torch.Tensor:
    """Round a multiple, or a fraction."""
    unit = 10.0 ** abs(decimals)
    return (self * unit).round() / unit if decimals > 0 else (self / unit).round() * unit


@decomposes(aten.logit.default)
@in_opmath
def logit(self: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    """log(x / (1 − x)), x within [eps, 1 − eps]."""
    value = self if eps is None else self.clamp(eps, 1 - eps)
    return (value / aten.rsub.Scalar(value, 1)).log()


@decomposes(aten.hypot.default)
@in_opmath
def hypot(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """√(x² + y²) as max·√(1 + (min/max)²), which overflows no earlier than the result."""
    a, b = self.abs(), other.abs()
    large, small = torch.maximum(a, b), finite(torch.minimum(a, b))
    ratio = small / large.clamp(torch.finfo(large.dtype).tiny, torch.finfo(large.dtype).max)
    return large * (ratio * ratio + 1).sqrt()


@decomposes(aten.logaddexp.default)
@in_opmath
def logaddexp(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """log(eˣ + eʸ) as max + log(1 + e^−|x − y|)."""
    distance = (finite(self) - finite(other)).abs()
    return torch.maximum(self, other) + (-distance).exp().log1p()


@decomposes(aten.where.Scalar, aten.where.ScalarSelf, aten.where.ScalarOther)
def where(condition: torch.Tensor, self: torch.Tensor | float, other: torch.Tensor | float) -> torch.Tensor:
    """A choice between tensors, a number being one without dimensions."""
    dtype = torch.result_type(self, other)
    chosen = (
        value.to(dtype) if isinstance(value, torch.Tensor) else aten.scalar_tensor(value, dtype=dtype)
        for value in (self, other)
    )
    return aten.where.self(condition, *chosen)
