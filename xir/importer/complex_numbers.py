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
    names = [argument.name for argument in target._schema.arguments]

    def call(*args: Any, **kwargs: Any) -> Any:
        found = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        complex_ones = [leaf for leaf in found if isinstance(leaf, ComplexTensor)]
        real = max((leaf.re.dtype for leaf in complex_ones), key=lambda dtype: dtype.itemsize, default=None)

        def operand(name: str, value: Any) -> Any:
            """A tensor of whole numbers as promotion has it; of real ones as complex where no operand else is."""
            if name in _CHOOSING or not isinstance(value, torch.Tensor) or isinstance(value, ComplexTensor):
                return value
            numbers = value if value.is_floating_point() else value.to(real or torch.get_default_dtype())
            # A complex number makes complex tensors of real ones: x * 1j.
            return numbers if complex_ones else ComplexTensor(numbers, torch.zeros_like(numbers))

        def operands(name: str, value: Any) -> Any:
            return [operand(name, each) for each in value] if isinstance(value, list | tuple) else operand(name, value)

        given = [operands(name, value) for name, value in zip(names, args, strict=False)]
        return target(*given, **{name: operands(name, value) for name, value in kwargs.items()})

    return call


_CHOOSING = frozenset(("condition", "index", "indices", "mask", "repeats"))
"""Operands that say where and not what."""


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


# New tensors


def _filled(size: Sequence[int], value: complex, dtype: torch.dtype | None) -> Any:
    """A complex number everywhere."""
    real = torch.get_default_dtype() if dtype is None else dtype.to_real()
    number = complex(value)
    return ComplexTensor(*(aten.full.default(size, part, dtype=real) for part in (number.real, number.imag)))


@_computes(aten.full.default)
def _full(size: Sequence[int], fill_value: complex, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled(size, fill_value, dtype)


@_computes(aten.scalar_tensor.default)
def _scalar_tensor(s: complex, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled((), s, dtype)


@_computes(aten.ones.default)
def _ones(size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled(size, 1, dtype)


@_computes(aten.zeros.default, aten.empty.memory_format)
def _zeros(size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled(size, 0, dtype)


@_computes(aten.eye.default, aten.eye.m)
def _eye(*size: int, dtype: torch.dtype, **_: Any) -> Any:
    real = torch.eye(*size, dtype=dtype.to_real())
    return ComplexTensor(real, torch.zeros_like(real))


@_computes(aten.full_like.default)
def _full_like(self: Any, fill_value: complex, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _new_full(self, self.shape, fill_value, dtype=dtype)


@_computes(aten.ones_like.default)
def _ones_like(self: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _full_like(self, 1, dtype=dtype)


@_computes(aten.zeros_like.default, aten.empty_like.default, aten.zero.default)
def _zeros_like(self: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _full_like(self, 0, dtype=dtype)


@_computes(aten.fill.Scalar)
def _fill(self: Any, value: complex) -> Any:
    return _full_like(self, value)


@_computes(aten.new_full.default)
def _new_full(
    self: Any, size: Sequence[int], fill_value: complex, *, dtype: torch.dtype | None = None, **_: Any
) -> Any:
    wanted: torch.dtype = self.dtype if dtype is None else dtype
    return _filled(size, fill_value, wanted) if wanted.is_complex else torch.full(size, fill_value, dtype=wanted)


@_computes(aten.new_ones.default)
def _new_ones(self: Any, size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _new_full(self, size, 1, dtype=dtype)


@_computes(aten.new_zeros.default, aten.new_empty.default)
def _new_zeros(self: Any, size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _new_full(self, size, 0, dtype=dtype)


@_computes(aten._to_copy.default)
def _to_copy(self: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    re, im = (self.re, self.im) if isinstance(self, ComplexTensor) else (self, None)
    if dtype is None or not dtype.is_complex:
        return self if dtype is None else re.to(dtype)
    re = re.to(dtype.to_real())
    return ComplexTensor(re, torch.zeros_like(re) if im is None else im.to(re.dtype))


# What is done to both parts


def _by_parts(operator: Operator) -> Callable[..., Any]:
    def rule(self: Any, *args: Any, **kwargs: Any) -> Any:
        return ComplexTensor(operator(self.re, *args, **kwargs), operator(self.im, *args, **kwargs))

    return rule


for _moving in (aten.roll, aten.tril, aten.triu, aten.diag_embed, aten.diag):
    _OWN[_moving.default] = _by_parts(_moving.default)


@_computes(aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar)
def _where(condition: torch.Tensor, self: Any, other: Any) -> Any:
    choices = [_halves(each) for each in (self, other)]
    return ComplexTensor(*(torch.where(condition, *parts) for parts in zip(*choices, strict=True)))


def _halves(value: Any) -> tuple[Any, Any]:
    """Real and imaginary part, of tensors and numbers."""
    if isinstance(value, ComplexTensor):
        return value.re, value.im
    if isinstance(value, torch.Tensor):
        return value, torch.zeros_like(value)
    return complex(value).real, complex(value).imag


@_computes(aten.addcmul.default)
def _addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: complex = 1) -> Any:
    product = tensor1 * tensor2
    return self + (product if value == 1 else product * value)


@_computes(aten.lerp.Scalar, aten.lerp.Tensor)
def _lerp(self: Any, end: Any, weight: Any) -> Any:
    return self + (end - self) * weight


@_computes(aten.vdot.default)
def _vdot(self: Any, other: Any) -> Any:
    return aten.dot(self.conj(), other)


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
