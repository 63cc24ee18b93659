"""Which forms of convolutions are worth it, by what they take on one processor or several, and by their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import ClassVar, TypeVar

from xir.cost.processors import GENERIC_GAIN, least_saved
from xir.cost.profile import CostProfile
from xir.transforms.xnnpack.composed_convolutions.forms import DIRECT, Form

Choice = TypeVar("Choice")
"""What is chosen for a node: a form of a convolution, or whether it is rewritten."""

LEAST_GAIN = 0.1
"""The share of the time that a form must save by one profile, of the direct one's and, by GEMM, of the best other's:
predictions are not closer than that."""

LEAST_SAVED = 20.0
"""The microseconds that it must save as well: it is up to 190 nodes, which take memory and time to load."""

MOST_LOST = 0.1
"""The share of the direct form's time by which a form may be slower on two threads by a profile, where those count: no
more than predictions are off."""


@dataclass(frozen=True)
class Predicted:
    """What a convolution takes in a form."""

    microseconds: tuple[float, ...]
    """By each profile, on as many threads as that is of."""
    added: int
    """The bytes of its weights beyond those of the direct form."""
    on_two_threads: tuple[float, ...] = ()
    """As `microseconds`, which are of one thread, where a file is for several, too."""

    NOTHING: ClassVar[Predicted]
    """Of a form that is taken whatever it costs."""

    @property
    def mean(self) -> float:
        """The geometric mean of the profiles' without those on two threads: one processor's slow clock does not count
        for more."""
        return _geometric_mean(self.microseconds)

    @property
    def weighed(self) -> float:
        """The mean of all, by which forms are compared."""
        return _geometric_mean((*self.microseconds, *self.on_two_threads))


Predicted.NOTHING = Predicted((), 0)


def _geometric_mean(times: Sequence[float]) -> float:
    return exp(sum(map(log, times)) / len(times)) if times else 0.0


def least_gains(profiles: Sequence[CostProfile], is_generic: bool) -> tuple[float, ...]:
    """The share of the direct form's time that a form must save by each of the profiles."""
    return tuple(least_saved(profile, GENERIC_GAIN if is_generic else LEAST_GAIN) for profile in profiles)


def worthwhile(times: Mapping[Form, Predicted], least: Sequence[float]) -> dict[Form, Predicted]:
    """The direct form, and those of more nodes that save so much, on each processor, that they are worth them: at least
    such shares of the direct form's time, while they lose at most `MOST_LOST` of it on two threads where these count.

    Forms by GEMM stay only if they save `LEAST_GAIN` of the best other's time, too.
    """

    def saves(form: Form, rival: Predicted) -> bool:
        rows = zip(times[form].microseconds, rival.microseconds, least, strict=True)
        loses = any(
            new > (1 + MOST_LOST) * old
            for new, old in zip(times[form].on_two_threads, rival.on_two_threads, strict=True)
        )
        return not loses and all(old - new >= max(share * old, LEAST_SAVED) for new, old, share in rows)

    direct = times[DIRECT]
    faster = [form for form in times if not form.is_direct and saves(form, direct)]
    stacking = [form for form in faster if not form.by_gemm]
    rival = min(times[form].weighed for form in (DIRECT, *stacking))
    by_gemm = [
        form for form in faster if form.by_gemm and rival - times[form].weighed >= max(LEAST_GAIN * rival, LEAST_SAVED)
    ]
    return {form: times[form] for form in (DIRECT, *stacking, *by_gemm)}


def fastest(options: Mapping[Choice, Predicted]) -> Choice:
    """The one that takes the least time."""
    return min(options, key=lambda form: options[form].weighed)


def allotted(options: Sequence[Mapping[Choice, Predicted]], budget: int | None) -> list[Choice]:
    """What is chosen for each node, of its options, so that they take the least time within a budget of bytes.

    Step by step that one is taken which saves the most time for each byte that it adds, of those that still fit: the
    greedy solution of a knapsack of classes, which is at most one step from the best one.
    """
    if budget is None:
        return list(map(fastest, options))
    chosen = [min(each, key=lambda form: (each[form].added, each[form].weighed)) for each in options]
    left = budget
    while (step := _best_step(options, chosen, left)) is not None:
        index, form = step
        left -= options[index][form].added - options[index][chosen[index]].added
        chosen[index] = form
    return chosen


def _best_step(
    options: Sequence[Mapping[Choice, Predicted]], chosen: Sequence[Choice], left: int
) -> tuple[int, Choice] | None:
    best, found = 0.0, None
    for index, (forms, current) in enumerate(zip(options, chosen, strict=True)):
        now = forms[current]
        for form, then in forms.items():
            saved, added = now.weighed - then.weighed, then.added - now.added
            if saved > 0 and added <= left and (rate := saved / added if added > 0 else inf) > best:
                best, found = rate, (index, form)
    return found
