"""Short-time Fourier transforms, as convolutions with windowed cosines and sines."""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore.

import math
from typing import Any

import numpy as np
import torch
from torch._subclasses.complex_tensor import ComplexTensor

from .fourier import constant, matrix
from .rules import computes

aten = torch.ops.aten


@computes(aten.stft.default)
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
    signals = [self.re, self.im] if isinstance(self, ComplexTensor) else [self]
    is_onesided = len(signals) == 1 if onesided is None else onesided
    wanted = n_fft // 2 + 1 if is_onesided else n_fft
    cos, sin = matrix(n_fft, -1, n_fft, wanted)
    filters = constant(np.concatenate((cos, sin), 1).T[:, None], signals[0])  # [2·wanted, 1, n_fft]
    filters = filters * _window(window, win_length, n_fft, signals[0])
    if normalized:
        filters = filters / math.sqrt(n_fft)
    batch = self.dim() == 2
    found = [
        torch.nn.functional.conv1d(each[:, None] if batch else each[None, None], filters, stride=hop).split(wanted, 1)
        for each in signals
    ]
    re, im = found[0] if len(found) == 1 else (found[0][0] - found[1][1], found[0][1] + found[1][0])
    re, im = (re, im) if batch else (re[0], im[0])
    return torch.stack((re, im), -1) if return_complex is False else ComplexTensor(re, im)


@computes(aten.istft.default)
def _istft(
    self: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,  # which frequencies there are says it as well
    length: int | None = None,
    return_complex: bool = False,
) -> torch.Tensor:
    """A transposed convolution, which adds up windowed frames, divided by the sum of the squared windows there."""
    if return_complex:
        raise NotImplementedError("a signal of complex numbers")
    hop = n_fft // 4 if hop_length is None else hop_length
    wanted = n_fft // 2 + 1
    # Half of the frequencies stand for their conjugates as well; of all of them ATen takes that half.
    times = np.array([1 if 2 * k in (0, n_fft) else 2 for k in range(wanted)])[:, None]
    cos, sin = matrix(n_fft, 1, wanted, n_fft)
    scale = times / (math.sqrt(n_fft) if normalized else n_fft)
    span = _window(window, win_length, n_fft, self.re)
    filters = constant(np.concatenate((cos * scale, -sin * scale))[:, None], self.re) * span
    batch = self.dim() == 3
    parts = [each.narrow(-2, 0, wanted) for each in (self.re, self.im)]
    parts = [each if batch else each[None] for each in parts]
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
