"""Equalisation: channels of a value that share one range are scaled to need about the same.

A value has one scale for all of its channels, so that a channel of small numbers has few integers. The factors follow
from what the channels reach on the calibration inputs, and where weights that read them share scales over channels,
half of it, as in Nagel et al. (2019, `channels.py`): the rest would round those weights worse.

A clamp with an upper bound c is exact if a channel that never reaches it is scaled by at most c / its largest value;
beyond what calibration has seen, such a channel is cut off there.

A few inputs say little of what a channel reaches on others: factors are the nearer to 1, the fewer there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node

from xir.progress import counted

from .channels import ChannelGroup, Scaled, find_groups
from .state import attribute, set_parameter

LARGEST_FACTOR = 64.0
"""How far factors may be apart: further, and the smallest scale that a weight's channel may have would be in the way
(`observers.SMALLEST_CHANNEL`)."""

FEW = 4.0
"""From so many inputs, the logarithms of factors are half of what they would be with many."""

NOTHING = 1e-6
"""A channel that reaches no more than this, of the value's largest number, is left alone."""


def equalize(observed: GraphModule, samples: Sequence[tuple[Any, ...]]) -> int:
    """Scale the channels of a prepared graph, by what they reach on `samples`. The number of groups that were.

    The graph gets parameters of its own where they change.
    """
    groups = find_groups(observed)
    if not groups:
        return 0
    seen = _Reach(observed, groups)
    with torch.no_grad():
        for sample in counted("Equalising", samples):
            seen.run(*sample)
        count = 0
        for group in groups:
            factors = _factors(observed, group, seen.reached)
            if factors is None:
                continue
            factors = factors ** _trust(max(seen.images[node] for node in group.quantized))
            for each in group.producers:
                _scale(observed, each, factors)
            for each in group.consumers:
                _scale(observed, each, 1 / factors)
            count += 1
    return count


class _Reach(Interpreter):
    """Runs a prepared graph without its observers, and notes the largest magnitude in each channel, and of how many
    images."""

    def __init__(self, observed: GraphModule, groups: Sequence[ChannelGroup]):
        super().__init__(observed)
        self._axes = {node: group.axis for group in groups for node in (*group.quantized, *group.bounds)}
        self.reached: dict[Node, Tensor] = {}
        self.images: Counter[Node] = Counter()

    def run_node(self, n: Node) -> Any:
        """The node's result."""
        if n.op == "call_module" and n.args:
            return self.env[n.all_input_nodes[0]]
        value = super().run_node(n)
        if n in self._axes and value.numel():
            reached = value.abs().movedim(self._axes[n], 0).flatten(1).amax(1)
            self.reached[n] = torch.maximum(self.reached[n], reached) if n in self.reached else reached
            self.images[n] += value.shape[0] if self._axes[n] else 1
        return value


def _trust(images: int) -> float:
    """The power that factors which follow from so many images are taken to, at most 1."""
    return images**2 / (images**2 + FEW**2)


def _factors(observed: GraphModule, group: ChannelGroup, reached: dict[Node, Tensor]) -> Tensor | None:
    """The factor of each channel; None where nothing would be gained, or values are not finite."""
    found = [reached[node] for node in group.quantized if node in reached]
    if not found or not all(bool(each.isfinite().all()) and float(each.max()) > 0 for each in found):
        return None
    share = torch.stack([each / each.max() for each in found]).amax(0)
    alive = share > NOTHING
    if not group.mixing:
        factors = 1 / share.clamp(min=NOTHING)
    else:
        weight = torch.stack([_largest(observed, each, len(share)) for each in group.consumers]).amax(0)
        factors = (weight.clamp(min=NOTHING) / share.clamp(min=NOTHING)).sqrt()
    factors = factors / factors[share.argmax()]
    factors = factors.clamp(1 / LARGEST_FACTOR**0.5, LARGEST_FACTOR**0.5)
    if group.bounds:
        room = torch.stack([bound / reached[node].clamp(min=NOTHING * bound) for node, bound in group.bounds.items()])
        factors = torch.minimum(factors.clamp(min=1), room.amin(0).clamp(min=1))
    return torch.where(alive, factors, torch.ones_like(factors))


def _largest(observed: GraphModule, scaled: Scaled, channels: int) -> Tensor:
    """The largest magnitude of a weight for each of its channels, of the weight's largest."""
    weight = attribute(observed, scaled.name).detach().abs()
    by_channel = weight.movedim(scaled.axis, 0).reshape(channels, -1).amax(1)
    return by_channel / by_channel.max().clamp(min=1e-30)


def _scale(observed: GraphModule, scaled: Scaled, factors: Tensor) -> None:
    old = attribute(observed, scaled.name)
    repeated = factors.repeat_interleave(scaled.repeats)
    view = [-1 if axis == scaled.axis else 1 for axis in range(old.dim())]
    set_parameter(observed, scaled.name, old.detach() * repeated.view(view))
