"""Choosing which layers stay in float, by measurement."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from torch.fx import GraphModule

from .measurement import measure
from .metric import Judge
from .outputs import compare_outputs
from .report import Layer, Point, QuantReport, worst
from .search import Goal, Search

RANKED_ON = 16
"""How many inputs the noise of layers is measured on where they are only to be ranked."""


@dataclass(frozen=True)
class Pair:
    """A float graph and its quantised form, whose nodes have the same names."""

    floats: GraphModule
    graph: GraphModule
    layers: Mapping[str, str]
    """The last node of each layer that computes on integers, by the layer's name."""


@dataclass(frozen=True)
class Choice:
    """What was chosen, and what is known of it."""

    pair: Pair
    point: Point
    samples: Sequence[tuple[Any, ...]]
    float_metric: Mapping[str, float]

    def report(self) -> QuantReport:
        """The report of each layer, on all calibration inputs."""
        measured = measure(self.pair.floats, self.pair.graph, self.pair.layers, self.samples)
        return replace(measured, kept=self.point.kept, metric=self.point.metric, float_metric=self.float_metric)


def choose(
    goal: Goal,
    attempt: Callable[[Sequence[str]], Pair],
    samples: Sequence[tuple[Any, ...]],
    judge: Judge | None,
) -> Choice:
    """The pair that reaches the goal with the fewest layers in float. `attempt` takes the names of those.

    DiagnosticError if none does, NothingToQuantizeError if nothing computes on integers in the first place.
    """

    def measured(kept: Sequence[str]) -> tuple[Pair, Point]:
        pair = attempt(kept)
        output = worst(compare_outputs(pair.floats, pair.graph, samples)) if goal.min_sqnr is not None else 0.0
        return pair, Point(tuple(kept), output, {} if judge is None else judge(pair.graph))

    pair, point = measured(())
    if goal.holds(point):
        return Choice(pair, point, samples, goal.exact)
    layers = measure(pair.floats, pair.graph, pair.layers, spread(samples, RANKED_ON)).layers
    search = Search([layer.name for layer in layers], measured, point)
    guess = len(layers) // 2 if goal.min_sqnr is None else estimate(layers, goal.min_sqnr - point.output)
    pair, point = search.reach(goal, guess)
    return Choice(pair, point, samples, goal.exact)


def spread(samples: Sequence[tuple[Any, ...]], most: int) -> Sequence[tuple[Any, ...]]:
    """At most so many of the samples, evenly spread."""
    step = max(-(-len(samples) // most), 1)
    return samples[::step]


def estimate(layers: Sequence[Layer], missing: float) -> int:
    """How many of the first layers to leave in float to gain so many dB, if the noises of the others add up."""
    noises = [10 ** (-layer.outputs / 10) for layer in layers]
    allowed = sum(noises) * 10 ** (-missing / 10)
    left = list(accumulate(reversed(noises)))
    return max(len(noises) - bisect_right(left, allowed), 1)
