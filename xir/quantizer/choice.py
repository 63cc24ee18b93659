"""Choosing which layers stay in float, by measurement: what each costs the outputs, and what it would cost in time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import log10
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from xir.ir.diagnostics import DiagnosticError

from .measurement import measure
from .metric import Judge
from .outputs import compare_outputs
from .report import Layer, Point, QuantReport, worst
from .search import Goal, LayerSearch
from .times import LayerTimes, predict, profile_of

RANKED_ON = 16
"""How many inputs the noise of layers is measured on where they are only to be ranked."""

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""The time added to that of all layers on integers at which the curve has points, if they were not measured anyway."""

LEAST = 1e-3
"""Microseconds that a layer in float is taken to cost at least, for which noises are compared."""


@dataclass(frozen=True)
class Pair:
    """A float graph and its quantised form, whose nodes have the same names."""

    floats: GraphModule
    graph: GraphModule
    layers: Mapping[str, str]
    """The last node of each layer that computes on integers, by the layer's name."""


@dataclass
class Choice:
    """What was chosen, and what is known of it."""

    pair: Pair
    point: Point
    float_metric: Mapping[str, float]
    points: list[Point]
    """All that were measured."""
    order: list[str] = field(default_factory=list[str])
    """Layers, by what they cost the outputs for each microsecond that they save."""
    noises: dict[str, float] = field(default_factory=dict[str, float])
    times: LayerTimes | None = None


class Chooser:
    """Finds the fastest program that reaches a goal."""

    def __init__(
        self,
        program: ExportedProgram,
        samples: Sequence[tuple[Any, ...]],
        attempt: Callable[[Sequence[str]], Pair],
        exported: Callable[[Pair], ExportedProgram],
        judge: Judge | None,
        cpu: str,
    ):
        """`attempt` quantises with the layers of these names in float, `exported` makes a program of the result."""
        self._program, self._samples, self._attempt, self._exported = program, samples, attempt, exported
        self._judge = judge
        self._profile = profile_of(cpu)

    def choose(self, goal: Goal) -> Choice:
        """What reaches the goal with the least time in float layers.

        DiagnosticError if nothing does, NothingToQuantizeError if nothing computes on integers in the first place.
        """
        pair, point = self._measured((), goal)
        choice = Choice(pair, point, goal.exact, [point])
        if goal.holds(point):
            return choice
        layers = measure(pair.floats, pair.graph, pair.layers, spread(self._samples, RANKED_ON)).layers
        self.rank(choice, layers)
        search = LayerSearch(choice.order, lambda kept: self._measured(kept, goal), point)
        choice.points = search.points
        noises = [choice.noises[name] for name in choice.order]
        guess = len(layers) // 2 if goal.min_sqnr is None else estimate(noises, goal.min_sqnr - point.output)
        choice.pair, choice.point = search.reach(goal, guess)
        return choice

    def rank(self, choice: Choice, layers: Sequence[Layer]) -> None:
        """Find the order in which the layers of an all-integer choice would go to float."""
        choice.noises = {layer.name: 10 ** (-layer.outputs / 10) for layer in layers}
        choice.times = self._times(choice.pair)
        choice.order = ranked(choice.noises, choice.times)

    def report(self, choice: Choice) -> QuantReport:
        """The report of each layer, on all calibration inputs, and the curve."""
        pair, point = choice.pair, choice.point
        report = measure(pair.floats, pair.graph, pair.layers, self._samples)
        if not choice.order:
            self.rank(choice, report.layers)
        report = replace(report, kept=point.kept, metric=point.metric, float_metric=choice.float_metric)
        times = choice.times
        if times is None:
            return report
        first, kept = (
            replace(choice.points[0], output=report.output) if not point.kept else choice.points[0],
            point.kept,
        )
        return replace(
            report,
            layers=tuple(replace(layer, in_float=times.one_more(layer.name, kept)) for layer in report.layers),
            costs={name: times.one_more(name, {*kept} - {name}) for name in kept},
            curve=self._curve(choice, first, times),
            processor=times.processor,
        )

    def _measured(self, kept: Sequence[str], goal: Goal) -> tuple[Pair, Point]:
        pair = self._attempt(kept)
        output = worst(compare_outputs(pair.floats, pair.graph, self._samples)) if goal.is_any else 0.0
        return pair, Point(tuple(kept), output, {} if self._judge is None else self._judge(pair.graph))

    def _times(self, pair: Pair) -> LayerTimes | None:
        """What layers take; None for a program that does not lower."""
        try:
            integer, floating = (predict(each, self._profile) for each in (self._exported(pair), self._program))
        except DiagnosticError:
            return None
        return LayerTimes(pair.floats, pair.layers, integer, floating, self._profile)

    def _curve(self, choice: Choice, first: Point, times: LayerTimes) -> tuple[Point, ...]:
        """What was measured, and between all layers on integers and all in float what follows from their noises."""
        measured = {len(each.kept): each for each in (first, *choice.points[1:])}
        for count in counts(choice.order, times):
            kept = tuple(choice.order[:count])
            if count not in measured:
                output = first.output + ratio(choice.noises, kept)
                measured[count] = Point(kept, output, measured=False)
        timed = [
            replace(each, microseconds=times.integer + times.added(each.kept)) for _, each in sorted(measured.items())
        ]
        everything = Point(tuple(choice.order), float("inf"), choice.float_metric, times.floating)
        return (*timed, everything)


def ranked(noises: Mapping[str, float], times: LayerTimes | None) -> list[str]:
    """The layers, the one first that takes most noise away for each microsecond that it adds, given those before it.

    Without times that is the one with most noise. Next to a layer in float another one costs less: a conversion goes.
    """
    left = sorted(noises, key=lambda name: -noises[name])
    if times is None:
        return left
    order: list[str] = []
    kept: set[str] = set()
    added = {name: times.one_more(name, kept) for name in left}
    while left:
        best = max(left, key=lambda name: noises[name] / max(added[name], LEAST))
        left.remove(best)
        order.append(best)
        kept.add(best)
        for name in times.beside(best):
            added[name] = times.one_more(name, kept)
    return order


def counts(order: Sequence[str], times: LayerTimes) -> list[int]:
    """How many of the layers are in float where the program takes as much longer as `SHARES` say, at most."""
    took, sums = 0.0, list[float]()
    kept: set[str] = set()
    for name in order:
        took += times.one_more(name, kept)
        kept.add(name)
        sums.append(took)
    found = (sum(1 for each in sums if each <= share * times.integer) for share in SHARES)
    return sorted({count for count in found if 0 < count < len(order)})


def ratio(noises: Mapping[str, float], kept: Sequence[str]) -> float:
    """By how many dB outputs get better without the noise of these layers."""
    total = sum(noises.values())
    left = total - sum(noises[name] for name in kept)
    return 10 * log10(total / left) if left > 0 else float("inf")


def spread(samples: Sequence[tuple[Any, ...]], most: int) -> Sequence[tuple[Any, ...]]:
    """At most so many of the samples, evenly spread."""
    step = max(-(-len(samples) // most), 1)
    return samples[::step]


def estimate(noises: Sequence[float], missing: float) -> int:
    """How many of the first layers to leave in float to gain so many dB, if the noises of the others add up."""
    allowed = sum(noises) * 10 ** (-missing / 10)
    left = list(accumulate(reversed(noises)))
    return max(len(noises) - bisect_right(left, allowed), 1)
