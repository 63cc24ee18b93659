"""torchvision's RoI align, in terms of ATen's operators.

torchvision need not be there: its operators are known by their names.
"""

from collections.abc import Callable
from typing import Any

import torch


def roi_align(
    input: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """Parts of images [N, C, H, W], each resampled to [C, pooled_height, pooled_width].

    `rois` [K, 5] are the number of an image and x1, y1, x2, y2. The mean of samples in a rectangle, each interpolated
    between four pixels, is a product with the mean weights of the rows from the left, and of the columns from the
    right; nothing is gathered, but the image of each part where there are several. So a pixel that is not finite
    reaches all parts of its image.
    Source: torchvision, `csrc/ops/cpu/roi_align_common.h` and `roi_align_kernel.cpp`.
    """
    batch, channels, height, width = input.shape
    parts = rois.shape[0]
    corners = rois * spatial_scale - (0.5 if aligned else 0.0)
    x1, y1, x2, y2 = (corners[:, index : index + 1].unsqueeze(2) for index in range(1, 5))
    rows = _mean_weights(y1, y2, pooled_height, height, sampling_ratio, aligned)
    columns = _mean_weights(x1, x2, pooled_width, width, sampling_ratio, aligned)
    if batch == 1:
        lines = input.reshape(channels * height, width)
        across = (lines @ columns.reshape(parts * pooled_width, width).t()).view(channels, height, parts, pooled_width)
        across = across.permute(2, 1, 0, 3)
    else:
        lines = input.reshape(batch, channels * height, width).index_select(0, rois[:, 0].long())
        across = torch.bmm(lines, columns.transpose(1, 2)).view(parts, channels, height, pooled_width).transpose(1, 2)
    both = torch.bmm(rows, across.reshape(parts, height, channels * pooled_width))
    return both.view(parts, pooled_height, channels, pooled_width).transpose(1, 2)


def _mean_weights(
    first: torch.Tensor, last: torch.Tensor, bins: int, size: int, sampling_ratio: int, aligned: bool
) -> torch.Tensor:
    """What the mean of each bin's samples takes of each pixel along one dimension: [K, bins, size].

    The parts begin at `first` and end at `last`, both [K, 1, 1]. Without a ratio a bin has as many samples as it has
    pixels, rounded up.
    """
    length = last - first if aligned else (last - first).clamp(min=1.0)
    bin_size = length / bins
    grid = bin_size.ceil()
    samples = sampling_ratio if sampling_ratio > 0 else size
    count = sampling_ratio if sampling_ratio > 0 else grid.clamp(min=1.0)
    index = torch.arange(samples, dtype=first.dtype)
    at = first + bin_size * torch.arange(bins, dtype=first.dtype).unsqueeze(1) + bin_size / count * (index + 0.5)
    # A sample counts up to one pixel before the image, and up to its size behind.
    counts = _not_negative(at + 1.0) * _not_negative(size - at)
    if sampling_ratio <= 0:
        counts = counts * (grid - index).clamp(0.0, 1.0)
    distance = at.clamp(0.0, size - 1.0).unsqueeze(3) - torch.arange(size, dtype=first.dtype)
    near = (1.0 - distance.abs()).clamp(min=0.0)
    return (near * counts.unsqueeze(3)).sum(2) / count


def _not_negative(value: torch.Tensor) -> torch.Tensor:
    """1 where a value is 0 or more, else 0, without the comparison that XNNPACK lacks."""
    return (value.sign() + 1.0).clamp(max=1.0)


OF_TORCHVISION: dict[str, Callable[..., Any]] = {"torchvision::roi_align": roi_align}
"""The name of an operator -> a function of its arguments that calls others."""
