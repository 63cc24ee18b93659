"""A build against its lock: what got worse, what got better, and what is only different."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from xir.ir.shown_text import shortened
from xir.lock.facts import Facts
from xir.lock.kinds import KINDS, OF_DELEGATES, Key, Rule, method_of
from xir.lock.layers import OperatorLayer
from xir.lock.lock_file import Lock, key_text, number_of, sorted_keys


class Verdict(Enum):
    """What a change of a fact is."""

    WORSE = "worse"
    BETTER = "better"
    OTHER = "other"


@dataclass(frozen=True)
class Change:
    """A fact that is another one now."""

    key: Key
    before: str | None
    """None if the lock lacks the fact."""
    after: str | None
    """None if the build lacks it."""
    verdict: Verdict
    line: int
    """Of the lock: where the fact is, or would be."""
    cause: str = ""
    """What made it, where that can be told: a pass and its reason, or the layers that it comes from."""

    def __str__(self) -> str:
        before, after = ("nothing" if value is None else _shown(self.key, value) for value in (self.before, self.after))
        text = f"{key_text(self.key)}: {before} → {after}{self._growth()}"
        return shortened(f"{text}; {self.cause}" if self.cause else text)

    def _growth(self) -> str:
        """By how many per cent a number is another one, of those that are not counted on fingers."""
        name = self.key[0]
        if KINDS[name].rule not in (Rule.MORE, Rule.TIME, Rule.TOLD) or self.before is None or self.after is None:
            return ""
        before, after = number_of(name, self.before), number_of(name, self.after)
        if not before or before < 100 or after is None:
            return ""
        growth = after / before - 1
        return f" ({growth:+.1%})" if abs(growth) >= 0.0005 else ""


def _shown(key: Key, value: str) -> str:
    """A value as people read it: large numbers in groups of digits."""
    return value if key[0] in ("accuracy", "output") else re.sub(r"\b\d{5,}\b", lambda d: f"{int(d[0]):,}", value)


Explain = Callable[[Change], str]


def compared(lock: Lock, facts: Facts, explain: Explain) -> list[Change]:
    """The changes, as the lock orders them. `explain` says what made one that is worse."""
    gone, new = (
        {key[1] for key in ours if key[0] == "method" and key not in others}
        for ours, others in ((lock.values, facts.values), (facts.values, lock.values))
    )
    changes: list[Change] = []
    taken_over = _with_fewer_kernels(lock, facts)
    for key in sorted_keys(lock.values.keys() | facts.values.keys()):
        before, after = lock.values.get(key), facts.values.get(key)
        if before == after or (key[0] != "method" and method_of(key) in gone | new):
            continue
        verdict = _verdict(key, before, after)
        if verdict is Verdict.WORSE and key[0] in OF_DELEGATES and key[1] in taken_over and after is not None:
            verdict = Verdict.OTHER
        change = Change(key, before, after, verdict, lock.line_for(key))
        if verdict is Verdict.WORSE:
            change = replace(change, cause=explain(change))
        changes.append(change)
    return changes


def _with_fewer_kernels(lock: Lock, facts: Facts) -> set[str]:
    """The methods that call fewer kernels outside of delegates than when the lock was written."""
    counts: Counter[str] = Counter()
    for sign, values in ((1, lock.values), (-1, facts.values)):
        for key, value in values.items():
            if key[0] == "outside":
                counts[key[1]] += sign * int(number_of(key[0], value) or 0)
    return {method for method, fewer in counts.items() if fewer > 0}


def _verdict(key: Key, before: str | None, after: str | None) -> Verdict:
    name, rule = key[0], KINDS[key[0]].rule
    match rule:
        case Rule.SAME:
            # A method that there was not takes nothing away from a host; another input does.
            return Verdict.BETTER if name == "method" and before is None else Verdict.WORSE
        case Rule.LAYER:
            return _layer_verdict(before, after)
        case Rule.TOLD:
            return Verdict.OTHER
        case _:
            pass
    if rule is not Rule.MORE:
        if after is None:
            return Verdict.WORSE
        if before is None:
            return Verdict.OTHER
    old, new = (0.0 if value is None else number_of(name, value) or 0.0 for value in (before, after))
    if old == new:
        return Verdict.OTHER
    return Verdict.WORSE if (new > old) is (rule is not Rule.LESS) else Verdict.BETTER


def _layer_verdict(before: str | None, after: str | None) -> Verdict:
    """More bits are worse, and so are more multiplications, and one node for a form that was chosen for its speed.

    What layers there are is the model's business: what they cost together is counted elsewhere.
    """
    if before is None or after is None:
        return Verdict.OTHER
    old, new = OperatorLayer.parse(before), OperatorLayer.parse(after)
    wider, narrower = (
        len(old.bits) == len(new.bits) and any(a > b for a, b in zip(*pair, strict=True))
        for pair in ((new.bits, old.bits), (old.bits, new.bits))
    )
    if wider or (old.is_composed and not new.is_composed):
        return Verdict.WORSE
    if narrower or (new.is_composed and not old.is_composed):
        return Verdict.BETTER
    if old.multiply_adds == new.multiply_adds:
        return Verdict.OTHER
    return Verdict.WORSE if new.multiply_adds > old.multiply_adds else Verdict.BETTER


def of_verdict(changes: Sequence[Change], verdict: Verdict) -> list[Change]:
    """Those of one kind."""
    return [change for change in changes if change.verdict is verdict]
