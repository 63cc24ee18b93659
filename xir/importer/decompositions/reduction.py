"""Reductions in terms of others."""

from collections.abc import Sequence

import torch

from .elementwise import finite
from .registry import decomposes, in_opmath

aten = torch.ops.aten


@decomposes(aten.logsumexp.default)
@in_opmath
def logsumexp(self: torch.Tensor, dim: Sequence[int], keepdim: bool = False) -> torch.Tensor:
    """log(Σ eˣ) as max + log(Σ e^(x − max))."""
    largest = finite(self.amax(list(dim), True))
    total = (self - largest).exp().sum(list(dim), keepdim).log()
    return total + (largest if keepdim else aten.squeeze.dims(largest, list(dim)))


@decomposes(aten.cosine_similarity.default)
@in_opmath
def cosine_similarity(x1: torch.Tensor, x2: torch.Tensor, dim: int = 1, eps: float = 1e-08) -> torch.Tensor:
    """The product of both, each divided by its length, at least `eps`."""
    x1, x2 = torch.broadcast_tensors(x1, x2)
    units = (x / aten.linalg_vector_norm(x, 2, [dim], True).clamp(eps) for x in (x1, x2))
    first, second = units
    return (first * second).sum([dim])


@decomposes(aten.var_mean.correction)
def var_mean(
    self: torch.Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The variance and the mean."""
    return aten.var.correction(self, dim, correction=correction, keepdim=keepdim), mean(self, dim, keepdim)


@decomposes(aten.var_mean.dim)
def var_mean_of_dims(
    self: torch.Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The variance, by default of a sample, and the mean."""
    return var_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


@decomposes(aten.std_mean.correction)
@in_opmath
def std_mean(
    self: torch.Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The standard deviation and the mean."""
    variance, average = var_mean(self, dim, correction=correction, keepdim=keepdim)
    return variance.sqrt(), average


@decomposes(aten.std_mean.dim)
@in_opmath
def std_mean_of_dims(
    self: torch.Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The standard deviation, by default of a sample, and the mean."""
    return std_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


def mean(value: torch.Tensor, dim: Sequence[int] | None, keepdim: bool) -> torch.Tensor:
    """The mean over `dim`, None being all."""
    return aten.mean.dim(value, dim if dim is not None else list(range(value.dim())), keepdim)
