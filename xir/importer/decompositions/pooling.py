"""Pooling of volumes, by planes."""

from collections.abc import Sequence

import torch

from .registry import decomposes

aten = torch.ops.aten


@decomposes(aten.max_pool3d.default)
def max_pool3d(
    self: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> torch.Tensor:
    """The largest over height and width, then over depth."""
    (size, *sizes), (step, *steps), (border, *borders), (distance, *distances) = (
        list(numbers) * 3 if len(numbers) == 1 else list(numbers)
        for numbers in (kernel_size, stride or kernel_size, padding, dilation)
    )
    *outer, depth, height, width = self.shape
    planes = self.reshape(-1, depth, height, width)
    planes = aten.max_pool2d(planes, sizes, steps, borders, distances, ceil_mode)
    rows, columns = planes.shape[2:]
    lines = planes.reshape(-1, 1, depth, rows * columns)
    lines = aten.max_pool2d(lines, [size, 1], [step, 1], [border, 0], [distance, 1], ceil_mode)
    return lines.reshape(*outer, lines.shape[2], rows, columns)


@decomposes(aten.adaptive_avg_pool3d.default)
def adaptive_avg_pool3d(self: torch.Tensor, output_size: Sequence[int]) -> torch.Tensor:
    """A mean where one element is left, for which ATen sets strides in place if channels are the last in memory."""
    if all(size == 1 for size in output_size):
        return self.mean((-3, -2, -1), keepdim=True)
    return aten._adaptive_avg_pool3d(self, output_size)


@decomposes(aten.adaptive_max_pool3d.default)
def adaptive_max_pool3d(self: torch.Tensor, output_size: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest over height and width, then over depth, and where in the volume they are."""
    *outer, depth, height, width = self.shape
    wanted, rows, columns = output_size
    planes, places = aten.adaptive_max_pool2d(self.reshape(-1, depth, height, width), [rows, columns])
    area = rows * columns
    largest, lines = aten.adaptive_max_pool2d(planes.reshape(-1, 1, depth, area), [wanted, area])
    lines = lines.reshape(-1, wanted * area)
    plane = torch.div(lines, area, rounding_mode="floor") * (height * width)
    indices = places.reshape(-1, depth * area).gather(1, lines) + plane
    return largest.reshape(*outer, *output_size), indices.reshape(*outer, *output_size)
