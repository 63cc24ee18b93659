"""Borders, windows and what is put back from windows."""

import itertools
from collections.abc import Sequence

import torch

from ..dtypes import is_open
from .registry import decomposes

aten = torch.ops.aten


@decomposes(aten.pad.default)
def pad(self: torch.Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> torch.Tensor:
    """A border of any kind; ATen writes a circular one part by part, in place."""
    return circular_border(self, pad) if mode == "circular" else aten.pad(self, pad, mode, value)


@decomposes(aten._pad_circular.default)
def circular_border(self: torch.Tensor, pad: Sequence[int]) -> torch.Tensor:
    """What stands at the other end, put before the beginning and behind the end, once negative padding has cut."""
    value = self
    for i in range(len(pad) // 2):
        dim, before, after = self.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]
        size = self.shape[dim] + min(before, 0) + min(after, 0)
        inner = value.narrow(dim, max(-before, 0), size)
        parts = [inner]
        if before > 0:
            parts.insert(0, inner.narrow(dim, size - before, before))
        if after > 0:
            parts.append(inner.narrow(dim, 0, after))
        value = aten.cat(parts, dim) if len(parts) > 1 else inner
    return value


@decomposes(aten.unfold.default)
def unfold(self: torch.Tensor, dimension: int, size: int, step: int) -> torch.Tensor:
    """Windows of `size` elements of a dimension, each `step` behind the other, as a new last dimension.

    Of an open dimension, which has any number of windows, a slice for each place in a window.
    """
    dim = dimension % self.dim()
    if is_open(self.shape[dim]):
        end = (self.shape[dim] - size) // step * step + 1
        return aten.stack([aten.slice(self, dim, place, end + place, step) for place in range(size)], -1)
    starts = range(0, self.shape[dim] - size + 1, step)
    windows = aten.stack([self.narrow(dim, start, size) for start in starts], dim)
    return windows.movedim(dim + 1, -1)


@decomposes(torch.ops.prims.broadcast_in_dim.default)
def broadcast_in_dim(a: torch.Tensor, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> torch.Tensor:
    """The dimensions of `a` in their places among those of `shape`, along which it is repeated."""
    for dim in range(len(shape)):
        if dim not in broadcast_dimensions:
            a = a.unsqueeze(dim)
    return a.expand(shape)


@decomposes(aten.im2col.default)
def im2col(
    self: torch.Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    """One slice of the image for each place in a window: torch's own gathers element by element."""
    if self.dim() == 3:
        return im2col(self.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    image = aten.constant_pad_nd(self, [padding[1], padding[1], padding[0], padding[0]]) if any(padding) else self
    lengths = [
        (size - distance * (count - 1) - 1) // step + 1
        for size, distance, count, step in zip(image.shape[2:], dilation, kernel_size, stride, strict=True)
    ]
    met: list[torch.Tensor] = []
    for place in itertools.product(*map(range, kernel_size)):
        part = image
        for dim, (at, distance, length, step) in enumerate(zip(place, dilation, lengths, stride, strict=True), 2):
            part = aten.slice(part, dim, at * distance, at * distance + (length - 1) * step + 1, step)
        met.append(part.flatten(2).unsqueeze(2))
    return torch.cat(met, 2).flatten(1, 2)


@decomposes(aten.col2im.default)
def col2im(
    self: torch.Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    """The sum of images, one for each place in a window, with zeros between its elements and around them."""
    if self.dim() == 2:
        return col2im(self.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    padded = [size + 2 * border for size, border in zip(output_size, padding, strict=True)]
    lengths = [
        (size - distance * (count - 1) - 1) // step + 1
        for size, distance, count, step in zip(padded, dilation, kernel_size, stride, strict=True)
    ]
    parts = self.unflatten(1, (-1, kernel_size[0] * kernel_size[1])).unflatten(3, lengths).unbind(2)
    total: torch.Tensor | None = None
    for place, part in zip(itertools.product(*map(range, kernel_size)), parts, strict=True):
        border: list[int] = []
        for i, (at, distance, size, step) in enumerate(zip(place, dilation, padded, stride, strict=True)):
            part, reach = with_zeros_between(part, 2 + i, step), (lengths[i] - 1) * step + 1
            border = [at * distance, size - at * distance - reach, *border]
        image = aten.constant_pad_nd(part, border)
        total = image if total is None else total + image
    assert total is not None
    (top, left), (height, width) = padding, output_size
    return total[:, :, top : top + height, left : left + width]


def with_zeros_between(value: torch.Tensor, dim: int, step: int) -> torch.Tensor:
    """`value` with its elements along a dimension `step` apart, the first and the last at the ends."""
    if step == 1:
        return value
    size = value.shape[dim]
    zeros = torch.zeros_like(value).unsqueeze(dim + 1)
    spread = torch.cat((value.unsqueeze(dim + 1), *[zeros] * (step - 1)), dim + 1).flatten(dim, dim + 1)
    return spread.narrow(dim, 0, (size - 1) * step + 1)
