"""Complex numbers as pairs of real ones: the IR has tensors of real and of imaginary parts alone.

Most operators are taken apart by torch's own `ComplexTensor`, one call at a time. Here is what it lacks: where complex
tensors come from, and Fourier transforms, which are products with matrices of cosines and sines.
"""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore, and so do its operators of Fourier transforms.

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._subclasses.complex_tensor import ComplexTensor
from torch.utils import _pytree as pytree
from xdsl.ir import SSAValue

from .aliasing import Operator

aten = torch.ops.aten

DENSE_LENGTH = 1024
"""The longest transform that is one product; longer ones are two, of the factors of their length."""


class ComplexValue(NamedTuple):
    """A complex tensor in the IR."""

    real: SSAValue
    imag: SSAValue


def is_complex(value: Any) -> bool:
    """Whether an fx value is a tensor of complex numbers, or has one among several."""
    if isinstance(value, list | tuple):
        return any(map(is_complex, value))
    return isinstance(value, torch.Tensor) and value.is_complex()


def has_rule(target: Operator) -> bool:
    """Whether an operator has a rule of its own here, which goes before what torch makes of it."""
    return target in _OWN


def in_parts(target: Operator) -> Callable[..., Any]:
    """What an operator computes of complex tensors, as a function of tensors and `ComplexTensor`s."""
    rule = _OWN.get(target)
    if rule is not None:
        return rule

    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(leaf, ComplexTensor) for leaf in pytree.tree_leaves((args, kwargs))):
            # A complex number makes complex tensors of real ones: x * 1j.
            args, kwargs = pytree.tree_map_only(torch.Tensor, _of_real, (args, kwargs))
        return target(*args, **kwargs)

    return call


def _of_real(value: torch.Tensor) -> Any:
    return ComplexTensor(value, torch.zeros_like(value)) if value.is_floating_point() else value


_OWN: dict[Operator, Callable[..., Any]] = {}


def _computes(*operators: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _OWN.update(dict.fromkeys(operators, function))
        return function

    return register


@_computes(aten.view_as_complex.default)
def _view_as_complex(self: torch.Tensor) -> Any:
    return ComplexTensor(aten.select.int(self, -1, 0), aten.select.int(self, -1, 1))


@_computes(aten.complex.default)
def _complex(real: torch.Tensor, imag: torch.Tensor) -> Any:
    return ComplexTensor(*torch.broadcast_tensors(real, imag))


@_computes(aten.lift_fresh_copy.default, aten.lift_fresh.default)
def _itself(self: Any) -> Any:
    return self


@_computes(aten.polar.default)
def _polar(abs: torch.Tensor, angle: torch.Tensor) -> Any:
    return _complex(abs * angle.cos(), abs * angle.sin())


# Fourier transforms


def _constant(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    """A constant of the program, of the element type of another tensor."""
    dtype = np.float64 if like.dtype == torch.float64 else np.float32
    return torch.from_numpy(array.astype(dtype)).to(like.dtype)


Factor = tuple[np.ndarray, np.ndarray]
"""Real and imaginary part, in fp64."""


def _turns(numerators: np.ndarray, length: int, sign: int) -> Factor:
    """e^(sign·2πi·numerators/length), exact for any size of the integers."""
    angles = (sign * 2 * math.pi / length) * (numerators % length)
    return np.cos(angles), np.sin(angles)


def _matrix(length: int, sign: int, rows: int, columns: int) -> Factor:
    """e^(sign·2πi·j·k/length), j < rows, k < columns."""
    return _turns(np.outer(np.arange(rows), np.arange(columns)), length, sign)


def _product(re: torch.Tensor, im: torch.Tensor | None, factor: Factor, times: Any) -> Any:
    """(re + i·im) times the factor; real and imaginary part."""
    cos, sin = (_constant(each, re) for each in factor)
    if im is None:
        return times(re, cos), times(re, sin)
    return times(re, cos) - times(im, sin), times(re, sin) + times(im, cos)


def _transform(re: torch.Tensor, im: torch.Tensor | None, sign: int, wanted: int) -> Any:
    """The first `wanted` of the Σ_j x_j·e^(sign·2πi·j·k/n) along the last dimension."""
    length = re.shape[-1]
    first = max((f for f in range(2, math.isqrt(length) + 1) if length % f == 0), default=0)
    if length <= DENSE_LENGTH or not first:
        return _product(re, im, _matrix(length, sign, length, wanted), torch.matmul)
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


@_computes(aten._fft_r2c.default)
def _fft_r2c(self: torch.Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    *others, last = dim
    wanted = self.shape[last] // 2 + 1 if onesided else None
    re, im = _along(self, None, last, -1, wanted)
    for each in others:
        re, im = _along(re, im, each, -1)
    return _scaled(re, im, _scale(normalization, math.prod(self.shape[each] for each in dim)))


@_computes(aten._fft_c2c.default)
def _fft_c2c(self: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    re, im = self.re, self.im
    for each in dim:
        re, im = _along(re, im, each, -1 if forward else 1)
    return _scaled(re, im, _scale(normalization, math.prod(self.shape[each] for each in dim)))


@_computes(aten._fft_c2r.default)
def _fft_c2r(self: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    """Of the half that a transform of real numbers has; the other one is its conjugate."""
    *others, last = dim
    re, im = self.re, self.im
    for each in others:
        re, im = _along(re, im, each, 1)
    half = last_dim_size // 2 + 1
    cos, sin = _matrix(last_dim_size, 1, half, last_dim_size)
    # All but the first and, of an even number, the last stand for their conjugates as well.
    times = np.array([1 if 2 * k in (0, last_dim_size) else 2 for k in range(half)])[:, None]
    re, im = (aten.slice.Tensor(each.movedim(last, -1), -1, 0, half) for each in (re, im))
    result = re @ _constant(cos * times, re) - im @ _constant(sin * times, re)
    lengths = [last_dim_size, *(self.shape[each] for each in others)]
    return result.movedim(-1, last) * _scale(normalization, math.prod(lengths))


# What torch makes of them for open sizes.


@_computes(torch.ops.prims.fft_r2c.default)
def _prims_fft_r2c(self: torch.Tensor, *, dim: Sequence[int], onesided: bool) -> Any:
    return _fft_r2c(self, dim, 0, onesided)


@_computes(torch.ops.prims.fft_c2c.default)
def _prims_fft_c2c(self: Any, *, dim: Sequence[int], forward: bool) -> Any:
    return _fft_c2c(self, dim, 0, forward)


@_computes(torch.ops.prims.fft_c2r.default)
def _prims_fft_c2r(self: Any, *, dim: Sequence[int], last_dim_size: int) -> Any:
    return _fft_c2r(self, dim, 0, last_dim_size)


@_computes(aten.stft.default)
def _stft(
    self: torch.Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """A convolution with windowed cosines and sines: a channel for each part of each frequency."""
    hop = n_fft // 4 if hop_length is None else hop_length
    wanted = n_fft if onesided is False else n_fft // 2 + 1
    cos, sin = _matrix(n_fft, -1, n_fft, wanted)
    filters = _constant(np.concatenate((cos, sin), 1).T[:, None], self)  # [2·wanted, 1, n_fft]
    filters = filters * _window(window, win_length, n_fft, self)
    if normalized:
        filters = filters / math.sqrt(n_fft)
    batch = self.dim() == 2
    signal = self[:, None] if batch else self[None, None]
    found = torch.nn.functional.conv1d(signal, filters, stride=hop)
    re, im = (each if batch else each[0] for each in found.split(wanted, 1))
    return torch.stack((re, im), -1) if return_complex is False else ComplexTensor(re, im)


@_computes(aten.istft.default)
def _istft(
    self: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> torch.Tensor:
    """A transposed convolution, which adds up windowed frames, divided by the sum of the squared windows there."""
    if return_complex:
        raise NotImplementedError("a signal of complex numbers")
    hop = n_fft // 4 if hop_length is None else hop_length
    wanted = self.shape[-2]
    # Half of the frequencies stand for their conjugates as well.
    times = np.array([1 if onesided is False or 2 * k in (0, n_fft) else 2 for k in range(wanted)])[:, None]
    cos, sin = _matrix(n_fft, 1, wanted, n_fft)
    scale = times / (math.sqrt(n_fft) if normalized else n_fft)
    span = _window(window, win_length, n_fft, self.re)
    filters = _constant(np.concatenate((cos * scale, -sin * scale))[:, None], self.re) * span
    batch = self.dim() == 3
    parts = [each if batch else each[None] for each in (self.re, self.im)]
    added = torch.nn.functional.conv_transpose1d(torch.cat(parts, 1), filters, stride=hop)
    ones = torch.ones_like(parts[0][:1, :1])
    squares = torch.nn.functional.conv_transpose1d(ones, (span * span)[None, None], stride=hop)
    start = n_fft // 2 if center else 0
    whole = n_fft + hop * (self.shape[-1] - 1)
    end = start + length if length is not None else whole - start
    signal = (added[..., start:end] / squares[..., start:end])[:, 0]
    signal = torch.nn.functional.pad(signal, (0, max(end - whole, 0))) if length is not None else signal
    return signal if batch else signal[0]


def _window(window: torch.Tensor | None, length: int | None, n_fft: int, like: torch.Tensor) -> torch.Tensor:
    """The window with zeros around it, `n_fft` numbers."""
    length = n_fft if length is None else length
    if window is None:
        window = torch.ones(length, dtype=like.dtype)
    before = (n_fft - length) // 2
    return torch.nn.functional.pad(window, (before, n_fft - length - before))
