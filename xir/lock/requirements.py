"""`--require`: bounds on a build's facts, without a lock: `delegates=1, outside=0, quantised>=95%, bytes<=4MB`."""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xir.lock.facts import Facts
from xir.lock.kinds import Key
from xir.lock.lock_file import key_text, number_of, sorted_keys

Combine = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class Quantity:
    """What can be bounded."""

    kinds: tuple[str, ...]
    """The facts that it is of."""
    combine: Combine
    """Those of several methods, or several arenas, as one number."""
    units: Mapping[str, float]
    """What a number may be followed by -> what it is multiplied with."""
    meaning: str
    absent: float | None = 0.0
    """What it is without facts; None if it is then unknown."""
    is_whole: bool = True


def _total(numbers: Sequence[float]) -> float:
    return sum(numbers)


def _largest(numbers: Sequence[float]) -> float:
    return max(numbers)


def _least(numbers: Sequence[float]) -> float:
    return min(numbers)


COUNT: Mapping[str, float] = {"": 1}
SIZE: Mapping[str, float] = {
    "": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2**10, "mib": 2**20, "gib": 2**30
}  # fmt: skip
SHARE: Mapping[str, float] = {"%": 0.01}
SPAN: Mapping[str, float] = {"us": 1, "ms": 1e3, "s": 1e6}

QUANTITIES: dict[str, Quantity] = {
    "delegates": Quantity(("delegates",), _total, COUNT, "delegates of all methods"),
    "outside": Quantity(("outside",), _total, COUNT, "calls of kernels outside of delegates, of all methods"),
    "quantised": Quantity(("quantised",), _least, SHARE, "layers on integers, of the method with fewest", 0.0, False),
    "bytes": Quantity(("bytes-written",), _total, SIZE, "the file and its .ptd"),
    "arena": Quantity(("arena",), _largest, SIZE, "the largest arena"),
    "memory": Quantity(("memory",), _largest, SIZE, "tensors in a delegate, of the method with most"),
    "time": Quantity(("microseconds",), _largest, SPAN, "the longest method's predicted time", None, False),
    "multiply-adds": Quantity(("multiply-adds",), _largest, COUNT, "of the method with most"),
    "accuracy": Quantity(("accuracy",), _least, {"": 1, "%": 0.01}, "the least number of --metric", None, False),
}
"""By name; `accuracy.top1` is that number of the metric."""

_UNKNOWN = {
    "time": "no time is predicted: --cpu names one processor for that",
    "accuracy": "there is no such number: --metric gives it",
}

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_BOUND = re.compile(r"\s*([A-Za-z-]+)(?:\.([^\s<>=,]+))?\s*(<=|>=|=|<|>)\s*([^,]*?)\s*")
_NUMBER = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z%]*)")


@dataclass(frozen=True)
class Requirement:
    """One bound."""

    text: str
    """As it was written."""
    name: str
    member: str
    """The metric's number behind `accuracy.`; empty for all."""
    operator: str
    bound: float

    def unmet(self, facts: Facts) -> str | None:
        """What is wrong; None if the facts are within the bound."""
        quantity = QUANTITIES[self.name]
        found = {key: value for key, value in facts.values.items() if key[0] in quantity.kinds}
        if self.member:
            found = {key: value for key, value in found.items() if key[1] == self.member}
        if not found and quantity.absent is None:
            return f"{self.text}: {_UNKNOWN[self.name]}"
        numbers = [number for key, value in found.items() if (number := number_of(key[0], value)) is not None]
        actual = quantity.combine(numbers) if numbers else quantity.absent or 0.0
        if _OPERATORS[self.operator](actual, self.bound):
            return None
        return f"{self.text}: it is {self._shown(actual)}{self._listed(found)}"

    def _shown(self, actual: float) -> str:
        units = QUANTITIES[self.name].units
        if units is SHARE:
            return f"{100 * actual:.1f} %"
        if units is SPAN:
            return f"{actual:.1f} us"
        return f"{actual:,.0f}" if QUANTITIES[self.name].is_whole else f"{actual:.6g}"

    def _listed(self, found: Mapping[Key, str]) -> str:
        """What it is made of, of counts of a few things."""
        if self.name not in ("delegates", "outside"):
            return ""
        listed = [f"{key_text(key[1:])}: {found[key]}" for key in sorted_keys(found)]
        return f", {'; '.join(listed)}" if listed else ""


def requirements_of(text: str) -> list[Requirement]:
    """The bounds of a text, separated by commas. ValueError, with the column, for what is none."""
    found: list[Requirement] = []
    column = 1
    for part in text.split(","):
        start = column + len(part) - len(part.lstrip())
        try:
            found.append(_requirement(part))
        except ValueError as error:
            raise ValueError(f"column {start}: {error}") from None
        column += len(part) + 1
    return found


def _requirement(part: str) -> Requirement:
    matched = _BOUND.fullmatch(part)
    if matched is None:
        raise ValueError(f"'{part.strip()}' is no bound, such as 'outside=0' or 'bytes<=4MB'")
    name, member, sign, value = matched.groups()
    name = "quantised" if name == "quantized" else name
    if name not in QUANTITIES:
        close = difflib.get_close_matches(name, QUANTITIES, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else f", but {', '.join(QUANTITIES)}"
        raise ValueError(f"there is no '{name}' to bound{hint}")
    if member and name != "accuracy":
        raise ValueError(f"'{name}' has no parts, so it has no '.{member}'")
    return Requirement(part.strip(), name, member or "", sign, _bound(name, value))


def _bound(name: str, value: str) -> float:
    """The number behind the sign."""
    quantity = QUANTITIES[name]
    units = {unit: factor for unit, factor in quantity.units.items() if unit}
    matched = _NUMBER.fullmatch(value)
    if matched is None:
        raise ValueError(f"'{name}' takes a number from 0 on, not '{value}'")
    unit = matched[2].lower()
    if unit not in quantity.units:
        raise ValueError(
            f"'{name}' takes a number {'' if '' in quantity.units else 'and '}"
            + (f"with one of {', '.join(units)}" if units else "without a unit")
            + f", not '{value}'"
        )
    number = float(matched[1]) * quantity.units[unit]
    if quantity.units is SHARE and number > 1:
        raise ValueError(f"'{name}' takes at most 100 %, not '{value}'")
    if quantity.is_whole and not math.isclose(number, round(number), abs_tol=1e-6):
        raise ValueError(f"'{name}' takes whole numbers, not '{value}'")
    return number
