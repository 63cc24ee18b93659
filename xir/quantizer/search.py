"""Leaving layers in float until the program is good enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import place

from .reasons import NothingToQuantizeError
from .report import Point

T = TypeVar("T")

Attempt = Callable[[Sequence[str]], tuple[T, Point]]
"""Quantises with the layers of these names in float."""


@dataclass(frozen=True)
class Goal:
    """What a program has to reach."""

    min_sqnr: float | None = None
    """The least SQNR of each output, in dB."""
    max_drop: float | Mapping[str, float] | None = None
    """The most that the metric's numbers, or those of these names, may be below the float program's."""
    exact: Mapping[str, float] = field(default_factory=dict[str, float])
    """The metric of the float program."""

    def __post_init__(self) -> None:
        unknown = sorted(self.drops.keys() - self.exact.keys())
        if unknown:
            known = ", ".join(f"'{name}'" for name in self.exact)
            raise DiagnosticError(place("quantize"), f"max_drop bounds '{unknown[0]}', and the metric returns {known}")

    @property
    def drops(self) -> Mapping[str, float]:
        """The bounds of `max_drop`, by the number's name."""
        if self.max_drop is None or isinstance(self.max_drop, Mapping):
            return self.max_drop or {}
        return dict.fromkeys(self.exact, self.max_drop)

    @property
    def is_any(self) -> bool:
        """Whether something is asked for."""
        return self.min_sqnr is not None or self.max_drop is not None

    def holds(self, point: Point) -> bool:
        """Whether a program reaches it."""
        return self.misses(point) <= 0

    def misses(self, point: Point) -> float:
        """By how much a program does not reach it: by the largest of what it lacks, in dB or the metric's units."""
        lacking = [] if self.min_sqnr is None else [self.min_sqnr - point.output]
        return max([*lacking, *(drop - self.drops[name] for name, drop in self._lost(point).items())], default=0.0)

    def _lost(self, point: Point) -> dict[str, float]:
        return {name: self.exact[name] - point.metric[name] for name in self.drops}

    def missed(self, best: Point, attempts: int, layers: int) -> DiagnosticError:
        """The error for a goal that no attempt has reached."""
        wanted = [] if self.min_sqnr is None or best.output >= self.min_sqnr else [f"{self.min_sqnr:g} dB"]
        has = [f"{best.output:.1f} dB"] if wanted else []
        for name, drop in self._lost(best).items():
            if drop > self.drops[name]:
                wanted.append(f"a drop of {self.drops[name]:g} of '{name}'")
                has.append(f"{best.metric[name]:g} for {self.exact[name]:g}")
        verb = "is" if len(wanted) == 1 and " dB" not in wanted[0] else "are"
        kept = len(best.kept)
        return DiagnosticError(
            place("quantize"),
            f"{' and '.join(wanted)} {verb} out of reach: the best of {attempts} attempts has {' and '.join(has)}, "
            f"with {kept} of {layers} layers in float; ask for less, choose dynamic activations, or leave the whole "
            "model in float",
        )


class LayerSearch(Generic[T]):
    """Attempts with the first so many layers of an order in float."""

    def __init__(self, order: Sequence[str], attempt: Attempt[T], first: Point):
        self.points = [first]
        """Those that were measured."""
        self._order, self._attempt = order, attempt

    def at(self, count: int) -> tuple[T, Point] | None:
        """The attempt with so many layers in float; None if nothing is left to quantise."""
        try:
            result = self._attempt(self._order[:count])
        except NothingToQuantizeError:
            return None
        self.points.append(result[1])
        return result

    def reach(self, goal: Goal, guess: int) -> tuple[T, Point]:
        """The attempt that reaches the goal with the fewest layers in float, found by halving from a guess on.

        DiagnosticError if the goal is not reached before nothing is left to quantise.
        """
        found: tuple[T, Point] | None = None
        low, high = 0, len(self._order) + 1  # too few in float, and too many or enough
        count = min(max(guess, 1), len(self._order))
        while high - low > 1:
            result = self.at(count)
            if result is not None and not goal.holds(result[1]):
                low = count
            else:
                found, high = result or found, count
            count = (low + high) // 2
        if found is None:
            best = min(self.points, key=lambda point: (goal.misses(point), len(point.kept)))
            raise goal.missed(best, len(self.points), len(self._order))
        return found
