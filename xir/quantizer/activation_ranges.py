"""Whether the ranges of integers that values are quantised with are those of the numbers that are seen."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from .findings import ROUNDED, Finding, role_name
from .layer_operands import factor_of
from .specs import EPSILON
from .steps import Steps

CUT = 2.0
"""How many times the rounding noise of a range that covers all (step² / 12) a value's noise may be. Observers estimate
what cutting outliers off costs from a histogram of 2,048 bins; a margin."""

LEAST_SHARE = 0.2
"""How much of the values' range integers have to reach if the outputs choose it, out of `sensitivity.FACTORS`: the
value's own noise says little then."""


@dataclass
class _Seen:
    """What was seen of one value that is quantised by one set of parameters known before."""

    source: Node
    layer: Node
    """What is named: the source itself, or what reads an input or a constant first."""
    steps: Steps
    by_outputs: bool
    """Whether the range is chosen by what the outputs feel."""
    low: float = math.inf
    high: float = -math.inf
    signal: float = 0.0
    noise: float = 0.0
    cut: int = 0
    """Numbers beyond the range of the integers."""
    count: int = 0

    def add(self, exact: Tensor, actual: Tensor) -> None:
        if not exact.numel():
            return
        low, high = torch.aminmax(exact)
        self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
        self.signal += float(exact.double().square().sum())
        self.noise += float((exact.double() - actual.double()).square().sum())
        beyond = (exact < self.steps.low - ROUNDED * self.steps.step) | (
            exact > self.steps.high + ROUNDED * self.steps.step
        )
        self.cut += int(beyond.sum())
        self.count += exact.numel()


class ActivationRanges:
    """What was seen of values that are quantised by parameters known before."""

    def __init__(self, by_outputs: Collection[Node]):
        """`by_outputs` are the values whose ranges are chosen by what the outputs feel."""
        self._by_outputs = by_outputs
        self._seen: dict[tuple[str, tuple[float, float, float]], _Seen] = {}
        self._products: dict[Node, tuple[Node, float]] = {}
        """Of multiplications by a constant: the operand, and the constant."""

    def add(self, source: Node, layer: Node, steps: Steps, exact: Tensor, actual: Tensor) -> None:
        """Take in a value on a sample, and what the integers stand for; `layer` is what is named."""
        assert isinstance(steps.step, float)
        key = source.name, (steps.step, float(steps.low), float(steps.high))
        self._seen.setdefault(key, _Seen(source, layer, steps, source in self._by_outputs)).add(exact, actual)

    def add_product(self, node: Node) -> None:
        """Note a node, if it multiplies by a constant."""
        if (factor := factor_of(node)) is not None:
            self._products[node] = node.all_input_nodes[0], factor

    def findings(self) -> Iterator[Finding]:
        """Ranges that reach too far, or not far enough."""
        groups: dict[tuple[float, float, float], list[_Seen]] = {}
        for (_, parameters), seen in self._seen.items():
            groups.setdefault(parameters, []).append(seen)
        ranges = {
            parameters: (min(each.low for each in seen), max(each.high for each in seen))
            for parameters, seen in groups.items()
        }
        scaled = self._scaled_ranges(ranges)
        for parameters, group in groups.items():
            low, high = ranges[parameters]
            for more in (each for seen in group for each in scaled.get(seen.source, ())):
                low, high = min(low, more[0]), max(high, more[1])
            what = _of_range(group, min(low, 0.0), max(high, 0.0))
            if what is not None:
                worst = max(group, key=lambda each: each.noise / max(each.signal, 1e-30))
                yield Finding(
                    worst.layer, f"{role_name(worst.source, worst.layer)} has a range that {what[0]}", what[1]
                )

    def _scaled_ranges(self, ranges: Mapping[Any, tuple[float, float]]) -> dict[Node, list[tuple[float, float]]]:
        """The ranges that results of multiplications by a constant have from the operand's."""
        found: dict[Node, list[tuple[float, float]]] = {}
        for result, (operand, factor) in self._products.items():
            for (name, parameters), _ in self._seen.items():
                if name == operand.name:
                    low, high = (each * factor for each in ranges[parameters])
                    found.setdefault(result, []).append((min(low, high), max(low, high)))
        return found


def _of_range(group: Sequence[_Seen], low: float, high: float) -> tuple[str, list[str]] | None:
    """What is wrong with the range of integers that values share, which are from `low` to `high`."""
    steps = group[0].steps
    step = float(torch.as_tensor(steps.step))
    largest = max(-low, high)
    if largest == 0:
        return None
    if steps.low == -(steps.count + 1) / 2 * step:  # symmetric
        low, high = -largest, largest
    covering = (high - low) / steps.count
    count, cut = sum(each.count for each in group), sum(each.cut for each in group)
    noise, signal = sum(each.noise for each in group), sum(each.signal for each in group)
    ratio = 10 * math.log10(signal / noise) if noise and signal else math.inf
    best = 10 * math.log10(max(12 * signal / (count * covering**2), 1e-30))
    span = f"[{float(steps.low):.6g}, {float(steps.high):.6g}]"
    notes = [
        f"{steps.told}: {span}, where values are in [{low:.6g}, {high:.6g}]; {100 * cut / count:.3g} % are cut off",
        f"{ratio:.1f} dB, where {math.log2(steps.count + 1):.0f} bits over the range of the values give {best:.1f} dB",
    ]
    wasted = max(low - float(steps.low), float(steps.high) - high) / step
    if step > EPSILON and wasted > ROUNDED + 1e-3 * largest / step:  # no scale is smaller
        return f"reaches {wasted:.3g} steps beyond its values", notes
    if any(each.by_outputs for each in group):
        reached = min(high, float(steps.high)) - max(low, float(steps.low))
        return ("cuts off too much", notes) if reached < LEAST_SHARE * (high - low) else None
    if noise > CUT * count * covering**2 / 12 and cut:
        return "cuts off too much", notes
    return None
