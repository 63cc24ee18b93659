"""Coordinate descent on a rounded weight: each scale, and then each integer, is moved to where the error of the layer's
outputs is least while all others stay.

The error is (W − Q)·H·(W − Q)ᵀ for moments H of the layer's inputs. A scale s of integers q has its least at the
weighted least squares, s + q·g / (q·H·qᵀ) with g the gradient (W − Q)·H; an integer at the nearest to Q + g / H[j, j].
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .compensation import Rounded

TINY = torch.finfo(torch.bfloat16).tiny
"""The smallest scale."""


def refine(rounded: Rounded, exact: Tensor, moments: Tensor, limits: tuple[int, int], sweeps: int) -> Rounded:
    """The weight after so many sweeps over all groups. `exact` is fp32 [channels, inputs], moments [inputs, inputs]."""
    integers, scales = rounded.integers.T.contiguous(), rounded.scales.T.contiguous()
    size = len(integers) // len(scales)
    # Columns are rows here, as the gradients are: [inputs, channels].
    for _ in range(sweeps):
        gradients = moments @ (exact - replace(rounded, integers=integers.T, scales=scales.T).weight()).T
        for group in range(len(scales)):
            part = slice(group * size, (group + 1) * size)
            own = moments[part, part]
            before = integers[part] * scales[group]
            scales[group] = _scale(scales[group], integers[part], gradients[part], own)
            gradient = gradients[part] - own @ (integers[part] * scales[group] - before)
            _move(integers[part], scales[group], gradient, own, limits)
            gradients.addmm_(moments[:, part], integers[part] * scales[group] - before, alpha=-1)
    return replace(rounded, integers=integers.T.contiguous(), scales=scales.T.contiguous())


def _scale(scales: Tensor, integers: Tensor, gradient: Tensor, moments: Tensor) -> Tensor:
    """A group's scales [channels], moved where that lowers the error: they have 16 bits."""
    curvature = (integers * (moments @ integers)).sum(0)
    slope = (integers * gradient).sum(0)
    wanted = (scales + slope / curvature.clamp(min=torch.finfo(torch.float32).tiny)).bfloat16().float()
    step = wanted - scales
    falls = (step * (step * curvature - 2 * slope) < 0) & (wanted >= TINY) & wanted.isfinite()
    return torch.where(falls, wanted, scales)


def _move(integers: Tensor, scales: Tensor, gradient: Tensor, moments: Tensor, limits: tuple[int, int]) -> None:
    """Each integer of a group to its best, one column after the other, in place. `gradient` goes along."""
    for column, row in enumerate(moments):
        wanted = integers[column] * scales + gradient[column] / row[column]
        moved = (wanted / scales).round_().clamp_(*limits)
        gradient.addr_(row, (moved - integers[column]) * scales, alpha=-1)
        integers[column] = moved
