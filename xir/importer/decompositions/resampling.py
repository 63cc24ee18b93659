"""Resizing along one, two and three dimensions, in terms of what XNNPACK and the edge dialect have."""

# pyright: reportPrivateUsage=false
# torch's way out of tracing begins with an underscore.

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import _disable_current_modes

from ..dtypes import is_open
from .registry import OWN, decomposes

aten = torch.ops.aten

Resize = Callable[..., torch.Tensor]


@decomposes(aten.upsample_nearest1d.default)
def upsample_nearest1d(self: torch.Tensor, output_size: Sequence[int], scales: float | None = None) -> torch.Tensor:
    """Images of height 1."""
    return aten.upsample_nearest2d(self.unsqueeze(2), [1, *output_size], None, scales).squeeze(2)


def _source_indices(resize: Resize, size: int, wanted: int, scale: float | None) -> list[int]:
    """The element that each one of the result is, as ATen's own resize in one dimension picks it."""
    with _disable_current_modes():
        return resize(torch.arange(size, dtype=torch.float64)[None, None], [wanted], scale).long().flatten().tolist()


def _picked(value: torch.Tensor, dim: int, indices: list[int]) -> torch.Tensor:
    """The elements of `indices` along a dimension."""
    size = value.shape[dim]
    if indices == [i for i in range(size) for _ in range(len(indices) // size)]:
        return _repeated(value, dim, len(indices) // size)
    return value.index_select(dim, torch.tensor(indices))


def _repeated(value: torch.Tensor, dim: int, count: int) -> torch.Tensor:
    """Each element along a dimension `count` times, by broadcasting."""
    if count == 1:
        return value
    shape = [-1] * (value.dim() + 1)
    shape[dim + 1] = count
    return value.unsqueeze(dim + 1).expand(shape).flatten(dim, dim + 1)


def _decompose_picking(operator: Any, resize: Any) -> None:
    """A resize that picks elements, by those that `resize`, its form for one dimension, picks along each."""

    def by_size(self: torch.Tensor, output_size: Sequence[int], *scales: float | None) -> torch.Tensor:
        sizes = self.shape[2:]
        if any(map(is_open, (*self.shape, *output_size))):
            return operator.default(self, output_size, *scales)
        value = self
        for dim, (size, wanted, scale) in enumerate(itertools.zip_longest(sizes, output_size, scales), 2):
            value = _picked(value, dim, _source_indices(resize, int(size), int(wanted), scale))
        return value

    def by_factor(
        input: torch.Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
    ) -> torch.Tensor:
        if scale_factors is None:
            assert output_size is not None
            return by_size(input, output_size)
        if all(factor >= 1 and float(factor).is_integer() for factor in scale_factors):
            value = input
            for dim, factor in enumerate(scale_factors, 2):
                value = _repeated(value, dim, int(factor))
            return value
        return by_size(input, _scaled(input, scale_factors), *scale_factors)

    OWN[operator.default] = by_size
    OWN[operator.vec] = by_factor


def _scaled(image: torch.Tensor, factors: Sequence[float]) -> list[int]:
    """The sizes that factors make of an image's, as ATen rounds them: ⌊size · factor⌋ of the product in fp64.

    The product with a fraction of few bits is exact, so that it can be divided in integers, which open sizes can be.
    """

    def scaled(size: int, factor: float) -> int:
        numerator, denominator = float(factor).as_integer_ratio()
        if is_open(size) and max(numerator, denominator) < 2**20:
            return size * numerator // denominator
        return int(size * factor)

    return [scaled(size, factor) for size, factor in zip(image.shape[2:], factors, strict=True)]


_decompose_picking(aten.upsample_nearest3d, aten.upsample_nearest1d.default)
for _exact in (aten._upsample_nearest_exact1d, aten._upsample_nearest_exact2d, aten._upsample_nearest_exact3d):
    _decompose_picking(_exact, aten._upsample_nearest_exact1d.default)


@decomposes(aten.upsample_linear1d.default)
def upsample_linear1d(
    self: torch.Tensor, output_size: Sequence[int], align_corners: bool, scales: float | None = None
) -> torch.Tensor:
    """Images of height 1."""
    image = aten.upsample_bilinear2d(self.unsqueeze(2), [1, *output_size], align_corners, None, scales)
    return image.squeeze(2)


@decomposes(aten.upsample_trilinear3d.default)
def upsample_trilinear3d(
    self: torch.Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> torch.Tensor:
    """Each plane, and then each line across the planes; as it is where sizes are open."""
    if any(map(is_open, (*self.shape, *output_size))):
        return aten.upsample_trilinear3d(self, output_size, align_corners, scales_d, scales_h, scales_w)
    batch, channels, depth, height, width = self.shape
    wanted, rows, columns = output_size
    planes = self.reshape(batch, channels * depth, height, width)
    planes = aten.upsample_bilinear2d(planes, [rows, columns], align_corners, scales_h, scales_w)
    lines = planes.reshape(batch, channels, depth, rows * columns)
    lines = aten.upsample_bilinear2d(lines, [wanted, rows * columns], align_corners, scales_d, None)
    return lines.reshape(batch, channels, wanted, rows, columns)


def _resized_axis(
    resize: Resize, size: int, wanted: int, align_corners: bool, scale: float | None, *, wide: bool = False
) -> NDArray[Any]:
    """What resizing makes of each of `size` unit vectors, [wanted, size]: it is linear. In fp64 if `wide`, or fp32."""
    with _disable_current_modes():
        units = torch.eye(size, dtype=torch.float64 if wide else torch.float32)[None, None]
        return resize(units, [wanted, size], align_corners, scale, None)[0, 0].numpy()


def _by_integers(
    resize: Resize, self: torch.Tensor, output_size: Sequence[int], align_corners: bool, scales: Sequence[float | None]
) -> torch.Tensor:
    """An image of bytes as ATen resizes it: each axis by weights of 16 bits, the width first, rounded to bytes between
    (`HelperInterpBase::_compute_index_ranges_int16_weights`, aten/src/ATen/native/cpu/UpSampleKernel.cpp)."""
    value = self.to(torch.int32)
    for size, wanted, scale in reversed(list(zip(self.shape[-2:], output_size, scales, strict=True))):
        matrix = _resized_axis(resize, int(size), int(wanted), align_corners, scale, wide=True)
        largest = float(matrix.max(initial=0))
        bits = next((bits for bits in range(22) if int(0.5 + largest * 2 ** (bits + 1)) >= 2**15), 22)
        weights = np.trunc(matrix * 2**bits + np.where(matrix < 0, -0.5, 0.5)).astype(np.int32)
        sums = aten.linear(value, torch.from_numpy(weights)) + (1 << bits >> 1)
        value = aten.bitwise_right_shift(sums, bits).clamp(0, 255).transpose(-1, -2)
    return value.to(torch.uint8)


def _by_matrices(
    resize: Resize,
    self: torch.Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales: Sequence[float | None],
) -> torch.Tensor:
    """Each axis by a product with a matrix of its weights; as it is where sizes are open."""
    height, width = self.shape[-2:]
    if any(map(is_open, (height, width, *output_size))):
        return resize(self, output_size, align_corners, *scales)
    if self.dtype == torch.uint8:
        return _by_integers(resize, self, output_size, align_corners, scales)
    down, across = (
        torch.from_numpy(
            _resized_axis(resize, int(size), int(wanted), align_corners, scale, wide=self.dtype == torch.float64)
        ).to(self.dtype)
        for size, wanted, scale in zip((height, width), output_size, scales, strict=True)
    )
    result = aten.linear(self, across)
    return aten.linear(result.transpose(-1, -2), down).transpose(-1, -2)


def _decompose_resizing(resize: Any) -> None:
    """A resizing operator, and its form that takes a factor in place of a size."""

    def by_size(
        self: torch.Tensor,
        output_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> torch.Tensor:
        return _by_matrices(resize.default, self, output_size, align_corners, (scales_h, scales_w))

    def by_factor(
        input: torch.Tensor,
        output_size: Sequence[int] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> torch.Tensor:
        if output_size is None:
            assert scale_factors is not None
            return by_size(input, _scaled(input, scale_factors), align_corners, *scale_factors)
        return by_size(input, output_size, align_corners)

    OWN[resize.default] = by_size
    OWN[resize.vec] = by_factor


for _resize in (aten.upsample_bicubic2d, aten._upsample_bicubic2d_aa, aten._upsample_bilinear2d_aa):
    _decompose_resizing(_resize)
