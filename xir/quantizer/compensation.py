"""4-bit rounding that makes up for its own errors.

Columns are rounded one after the other and take up the errors of those before them (`error_feedback`), and `refinement`
lowers the error further.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .error_feedback import BLOCK, Feedback, round_in_turn
from .observers import CANDIDATES, group_scales
from .refinement import refine

DAMPING = 0.01
"""What is added to the diagonal of the moments, of its mean: inputs beyond those of the calibration vary as well."""

LARGEST_MOMENT = 1e30
"""Of inputs of some 1e15; products of moments with weights overflow at 3e38."""

SWEEPS = 2
"""How often `refine` goes over a weight; a third sweep changes the error by less than 1 %."""


@dataclass(frozen=True)
class Rounded:
    """A weight [channels, inputs] in few bits."""

    integers: Tensor
    """[channels, inputs], whole numbers of any type."""
    scales: Tensor
    """fp32 [channels, groups], numbers that the 16 bits of a file hold."""

    def weight(self) -> Tensor:
        """The numbers that the integers stand for, fp32 [channels, inputs]; exact."""
        channels, groups = self.scales.shape
        return (self.integers.reshape(channels, groups, -1) * self.scales[..., None]).reshape(channels, -1)


def nearest(weight: Tensor, group_size: int, limits: tuple[int, int]) -> Rounded:
    """A weight rounded to the nearest integers, with the scales of its own least squared error."""
    scales = group_scales(weight, group_size, *limits)
    groups = weight.float().reshape(*scales.shape, group_size) / scales[..., None]
    return Rounded(groups.round_().clamp_(*limits).reshape(weight.shape), scales)


def compensated(weight: Tensor, moments: Tensor, group_size: int, limits: tuple[int, int]) -> Rounded:
    """The weight [channels, inputs], of any float type, rounded for inputs with these moments [inputs, inputs].

    No channel's outputs on those inputs are further from the exact ones than with `nearest`.
    """
    exact, plain = weight.detach().float(), nearest(weight.detach(), group_size, limits)
    if are_too_large(moments):
        return plain
    damped = _damped(moments)
    found = refine(_round_in_turn(exact, damped, group_size, limits), exact, damped, limits, SWEEPS)
    worse = (output_error(exact, found, moments) > output_error(exact, plain, moments))[:, None]
    return Rounded(torch.where(worse, plain.integers, found.integers), torch.where(worse, plain.scales, found.scales))


def are_too_large(moments: Tensor) -> bool:
    """Whether products with these moments may overflow: no other number is larger than the diagonal's."""
    return not float(moments.diagonal().max()) < LARGEST_MOMENT


def output_error(weight: Tensor, rounded: Rounded, moments: Tensor) -> Tensor:
    """The squared error of each channel's outputs [channels] on inputs with these moments."""
    difference = weight.float() - rounded.weight()
    return ((difference @ moments) * difference).sum(1)


def _damped(moments: Tensor) -> Tensor:
    mean = moments.diagonal().mean()
    added = DAMPING * mean if mean > 0 else torch.ones_like(mean)
    return moments + torch.diag(added.expand(len(moments)))


def _round_in_turn(exact: Tensor, moments: Tensor, group_size: int, limits: tuple[int, int]) -> Rounded:
    """Each column rounded in turn. Scales are found when the first column of their group is rounded."""
    feedback = Feedback.of(moments)
    columns = exact.T.contiguous()
    integers = torch.empty_like(columns)
    scales = torch.empty(exact.shape[1] // group_size, exact.shape[0])

    def round_column(column: int, rest: Tensor) -> Tensor:
        group = column // group_size
        if column % group_size == 0:
            importance = feedback.importance[column : column + group_size]
            scales[group] = _scales(rest[:group_size], importance, limits)
        integers[column] = (rest[0] / scales[group]).round_().clamp_(*limits)
        return integers[column] * scales[group]

    round_in_turn(columns, feedback, round_column, BLOCK if BLOCK % group_size == 0 else group_size)
    return Rounded(integers.T.contiguous(), scales.T.contiguous())


def _scales(columns: Tensor, importance: Tensor, limits: tuple[int, int]) -> Tensor:
    """Scales [channels] for columns [group size, channels], of the least error weighted by column."""
    largest = columns.abs().amax(dim=0)
    covering = torch.where(largest > 0, largest / ((limits[1] - limits[0]) / 2), torch.ones_like(largest))
    best, least = covering, torch.full_like(covering, torch.inf)
    for factor in CANDIDATES:
        scale = (covering * factor).bfloat16().float()
        error = importance @ (columns / scale).round_().clamp_(*limits).mul_(scale).sub_(columns).square_()
        best, least = torch.where(error < least, scale, best), torch.minimum(error, least)
    return best
