"""Leaving the worst layers in float until the outputs are good enough."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import name_location

from .reasons import NothingToQuantizeError
from .report import QuantReport

T = TypeVar("T")

Attempt = Callable[[Sequence[str]], tuple[T, QuantReport]]
"""Quantises with the layers of these names in float."""


def reach(target: float | None, attempt: Attempt[T]) -> tuple[T, QuantReport]:
    """The attempt that reaches `target` dB with the fewest of the worst layers in float; the first if that is None.

    Layers are ranked once, by the noise of theirs that arrives at the outputs; how many have to go follows from what
    each contributes. From there the number kept doubles until it is enough, or halves while it is, and is then searched
    between the two: some 2·log2(layers) attempts at most. DiagnosticError if the target is not reached before nothing
    is left to quantise.
    """
    first = attempt(())
    if target is None or first[1].output >= target:
        return first
    ranked = [layer.name for layer in first[1].layers]
    tried = [first[1].output]
    found: dict[int, tuple[T, QuantReport]] = {}

    def is_enough(count: int) -> bool:
        result = _try(ranked[:count], attempt)
        if result is None:
            return False
        tried.append(result[1].output)
        if result[1].output >= target:
            found[count] = result
        return count in found

    too_few, count = 0, _estimate(first[1], target)
    while not is_enough(count):
        if count == len(ranked) - 1 or count == 0:
            raise DiagnosticError(
                name_location("quantize"),
                f"{target:g} dB are out of reach: the best of {len(tried)} attempts has {max(tried):.1f} dB; choose "
                "dynamic activations, or a lower min_sqnr",
            )
        too_few, count = count, min(2 * count, len(ranked) - 1)
    while count // 2 > too_few and is_enough(count // 2):
        count //= 2
    too_few = max(too_few, count // 2)
    while count - too_few > 1:
        middle = (count + too_few) // 2
        if is_enough(middle):
            count = middle
        else:
            too_few = middle
    return found[count]


def _estimate(report: QuantReport, target: float) -> int:
    """How many of the worst layers to leave in float, if the noises of the others add up as in the report."""
    noises = [10 ** (-layer.outputs / 10) for layer in report.layers]
    allowed = sum(noises) * 10 ** ((report.output - target) / 10)
    left = list(accumulate(reversed(noises)))
    most = bisect_right(left, allowed)
    return min(max(len(noises) - most, 1), len(noises) - 1)


def _try(kept: Sequence[str], attempt: Attempt[T]) -> tuple[T, QuantReport] | None:
    """None if nothing is left to quantise: layers between floats alone stay float as well."""
    try:
        return attempt(kept)
    except NothingToQuantizeError:
        return None
