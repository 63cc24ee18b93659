"""Whether one conversion of a quantised graph is right, on the exact numbers that the float graph has there."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.fx import Node

from .findings import ROUNDED, Finding, role_name
from .layer_operands import channel_axis
from .steps import Steps

SMALLEST_SCALE = 2.0**-11
"""A weight's scales that are smaller than this, of the largest, may be coarser than their channel wants: no channel's
are made so small that its bias overflows."""

FINE = 2.0
"""How many times the noise of the scale that covers them 4-bit weights of a group may have; a margin: scales are
numbers of 16 bits."""


def check_rounding(named: Node, exact: Node, user: Node, want: Tensor, got: Tensor, steps: Steps) -> Iterator[Finding]:
    """A number within the range is half a step away at most; one beyond it becomes its end."""
    held = torch.minimum(torch.maximum(want, torch.as_tensor(steps.low)), torch.as_tensor(steps.high))
    off = ((got - held).abs() / steps.step).nan_to_num(nan=math.inf)
    worst = float(off.max()) if off.numel() else 0.0
    if worst > ROUNDED:
        place = torch.unravel_index(off.argmax(), off.shape)
        yield Finding(
            named,
            f"{role_name(exact, user)} is up to {worst:.3g} steps away, where rounding makes half of one",
            [f"{float(want[place]):.6g} becomes {float(got[place]):.6g} with {steps.told}"],
        )


def check_rows(named: Node, exact: Node, user: Node, want: Tensor, steps: Steps) -> Iterator[Finding]:
    """What is quantised at run time has the range of its vector, or of its tensor."""
    step = torch.as_tensor(steps.step)
    by_row = step.dim() == want.dim() and step.numel() > 1
    low, high = (want.amin(-1, keepdim=True), want.amax(-1, keepdim=True)) if by_row else (want.min(), want.max())
    span = high.clamp(min=0) - low.clamp(max=0)
    needed = (span / steps.count).expand_as(step) if by_row else span / steps.count
    ratio = torch.where(needed > 2.0**-30, step / needed.clamp(min=2.0**-30), torch.ones_like(step))
    for worst, wrong in ((float(ratio.max()), "coarser"), (1 / max(float(ratio.min()), 1e-30), "finer")):
        if worst > 1 + 1e-2:
            what = f"{role_name(exact, user)} has a scale {worst:.3g} times {wrong} than its values want at run time"
            yield Finding(named, what)


def check_weights(layer: Node, want: Tensor, got: Tensor, steps: Steps, least: Tensor) -> Iterator[Finding]:
    """A weight's scales are those of its largest numbers, one for each output channel, or `least` where those are
    smaller: what the biases of these channels need."""
    axis = channel_axis(layer)
    if steps.axis is not None and axis is not None and steps.axis != axis:
        yield Finding(
            layer,
            f"its weight has a scale for each index of dimension {steps.axis}, where dimension {axis} counts its "
            "output channels",
        )
        return
    step = torch.as_tensor(steps.step)
    magnitudes, noise = steps.by_scale(want.abs()), steps.by_scale((want - got).square())
    largest = magnitudes.amax(-1)
    scales = steps.by_scale(step.expand_as(want))[..., 0]
    covering = largest / (steps.count / 2)
    if steps.count < 100:  # 4 bits: the least squared error, which may cut off
        plain = (want / steps.expand(covering, want)).nan_to_num()
        rounded = plain.round().clamp(-(steps.count + 1) / 2, (steps.count - 1) / 2) * steps.expand(covering, want)
        allowed = FINE * steps.by_scale((want - rounded).square()).sum(-1)
        wrong = (noise.sum(-1) > allowed + scales.square() * 1e-3) & (largest > 0)
        what = "has {:.3g} times the noise of the scale that covers it"
        ratio = noise.sum(-1) / allowed.clamp(min=1e-30) * FINE
    else:
        needed = least if least.shape == covering.shape else least.amax()
        ratio = scales / torch.maximum(covering, needed.to(covering)).clamp(min=1e-30)
        wrong = (largest > 0) & (scales > SMALLEST_SCALE * scales.max())
        wrong &= (ratio > 1 + 1e-2) | (ratio < 1 - 1e-2)
        what = "has {:.3g} times the scale that its largest number wants"
    if bool(wrong.any()):
        place = int(torch.where(wrong, ratio, 0).argmax())
        of = f"channel {place} of " if ratio.numel() > 1 else ""
        yield Finding(layer, f"{of}its weight {what.format(float(ratio.flatten()[place]))}")
