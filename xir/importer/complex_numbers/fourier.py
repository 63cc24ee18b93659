"""Fourier transforms, as products with matrices of cosines and sines."""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore, and so do its operators of Fourier transforms.

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch._subclasses.complex_tensor import ComplexTensor

from .rules import computes

aten = torch.ops.aten

DENSE_LENGTH = 1024
"""The longest transform that is one product; longer ones are two, of the factors of their length."""


def constant(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    """A constant of the program, of the element type of another tensor."""
    dtype = np.float64 if like.dtype == torch.float64 else np.float32
    return torch.from_numpy(array.astype(dtype)).to(like.dtype)


Factor = tuple[np.ndarray, np.ndarray]
"""Real and imaginary part, in fp64."""


def _turns(numerators: np.ndarray, length: int, sign: int) -> Factor:
    """e^(sign·2πi·numerators/length), exact for any size of the integers, and 0 at the quarters."""
    turns = numerators % length
    angles = (sign * 2 * math.pi / length) * turns
    quarters = 4 * turns % length == 0
    cos, sin = np.cos(angles), np.sin(angles)
    return np.where(quarters, np.rint(cos), cos), np.where(quarters, np.rint(sin), sin)


def matrix(length: int, sign: int, rows: int, columns: int) -> Factor:
    """e^(sign·2πi·j·k/length), j < rows, k < columns."""
    return _turns(np.outer(np.arange(rows), np.arange(columns)), length, sign)


def _product(re: torch.Tensor, im: torch.Tensor | None, factor: Factor, times: Any) -> Any:
    """(re + i·im) times the factor; real and imaginary part."""
    cos, sin = (constant(each, re) for each in factor)
    if im is None:
        return times(re, cos), times(re, sin)
    return times(re, cos) - times(im, sin), times(re, sin) + times(im, cos)


def _transform(re: torch.Tensor, im: torch.Tensor | None, sign: int, wanted: int) -> Any:
    """The first `wanted` of the Σ_j x_j·e^(sign·2πi·j·k/n) along the last dimension."""
    length = re.shape[-1]
    first = max((f for f in range(2, math.isqrt(length) + 1) if length % f == 0), default=0)
    if length <= DENSE_LENGTH or not first:
        return _product(re, im, matrix(length, sign, length, wanted), torch.matmul)
    # Cooley and Tukey's: j = second·j1 + j2, k = k1 + first·k2. Transform over j1, turn by j2·k1, transform over j2.
    second = length // first
    parts = [None if each is None else each.unflatten(-1, (first, second)).transpose(-1, -2) for each in (re, im)]
    assert parts[0] is not None
    inner = _transform(parts[0], parts[1], sign, first)  # [..., j2, k1]
    turns = _turns(np.outer(np.arange(second), np.arange(first)), length, sign)
    turned = _product(inner[0], inner[1], turns, torch.mul)
    outer = _transform(turned[0].transpose(-1, -2), turned[1].transpose(-1, -2), sign, second)  # [..., k1, k2]
    return tuple(each.transpose(-1, -2).flatten(-2)[..., :wanted] for each in outer)


def _along(
    re: torch.Tensor, im: torch.Tensor | None, dim: int, sign: int, wanted: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    parts = [None if each is None else each.movedim(dim, -1) for each in (re, im)]
    assert parts[0] is not None
    found = _transform(parts[0], parts[1], sign, parts[0].shape[-1] if wanted is None else wanted)
    return found[0].movedim(-1, dim), found[1].movedim(-1, dim)


def _scale(normalization: int, length: int) -> float:
    """The factor of a normalisation as ATen numbers them: none, by the root of n, by n."""
    return (1.0, 1 / math.sqrt(length), 1 / length)[normalization]


def _scaled(re: torch.Tensor, im: torch.Tensor, factor: float) -> Any:
    return ComplexTensor(re, im) if factor == 1 else ComplexTensor(re * factor, im * factor)


@computes(aten._fft_r2c.default)
def _fft_r2c(self: torch.Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    *others, last = dim
    wanted = self.shape[last] // 2 + 1 if onesided else None
    re, im = _along(self, None, last, -1, wanted)
    for each in others:
        re, im = _along(re, im, each, -1)
    return _scaled(re, im, _scale(normalization, math.prod(self.shape[each] for each in dim)))


@computes(aten._fft_c2c.default)
def _fft_c2c(self: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    re, im = self.re, self.im
    for each in dim:
        re, im = _along(re, im, each, -1 if forward else 1)
    return _scaled(re, im, _scale(normalization, math.prod(self.shape[each] for each in dim)))


@computes(aten._fft_c2r.default)
def _fft_c2r(self: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    """Of the half that a transform of real numbers has; the other one is its conjugate."""
    *others, last = dim
    re, im = self.re, self.im
    for each in others:
        re, im = _along(re, im, each, 1)
    half = last_dim_size // 2 + 1
    cos, sin = matrix(last_dim_size, 1, half, last_dim_size)
    # All but the first and, of an even number, the last stand for their conjugates as well.
    times = np.array([1 if 2 * k in (0, last_dim_size) else 2 for k in range(half)])[:, None]
    re, im = (aten.slice.Tensor(each.movedim(last, -1), -1, 0, half) for each in (re, im))
    result = re @ constant(cos * times, re) - im @ constant(sin * times, re)
    lengths = [last_dim_size, *(self.shape[each] for each in others)]
    return result.movedim(-1, last) * _scale(normalization, math.prod(lengths))


# What torch makes of them for open sizes.


@computes(torch.ops.prims.fft_r2c.default)
def _prims_fft_r2c(self: torch.Tensor, *, dim: Sequence[int], onesided: bool) -> Any:
    return _fft_r2c(self, dim, 0, onesided)


@computes(torch.ops.prims.fft_c2c.default)
def _prims_fft_c2c(self: Any, *, dim: Sequence[int], forward: bool) -> Any:
    return _fft_c2c(self, dim, 0, forward)


@computes(torch.ops.prims.fft_c2r.default)
def _prims_fft_c2r(self: Any, *, dim: Sequence[int], last_dim_size: int) -> Any:
    return _fft_c2r(self, dim, 0, last_dim_size)
