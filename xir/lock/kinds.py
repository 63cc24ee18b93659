"""What a lock has facts of: the kinds, what names a fact of each, and which way it gets worse."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Rule(Enum):
    """When a fact is worse than the one of the lock."""

    MORE = "a larger number is worse; a fact that is not there stands for 0"
    LESS = "a smaller number is worse, and so is its absence"
    TIME = "a larger number is worse, and so is its absence"
    SAME = "any other value is worse, and so is its absence"
    LAYER = "more bits, or a slower form, are worse"
    TOLD = "nothing is worse"


@dataclass(frozen=True)
class FactKind:
    """A sort of facts."""

    rule: Rule
    names: tuple[str, ...]
    """What names one of them, behind the kind's own name."""
    meaning: str
    may_repeat: bool = False
    """Whether a number may stand behind the names: the second of facts with equal ones has a 2 there, and so on."""

    @property
    def of_method(self) -> bool:
        """Whether a fact is of one method."""
        return self.names[:1] == ("method",)


KINDS: dict[str, FactKind] = {
    "accuracy": FactKind(Rule.LESS, ("metric",), "what the metric gives the quantised program"),
    "arena": FactKind(Rule.MORE, ("method", "arena"), "bytes of an arena, which a host provides"),
    "bytes": FactKind(Rule.MORE, (), "of the file and its .ptd, without debug information"),
    "bytes-moved": FactKind(Rule.MORE, ("method",), "bytes that nodes of delegates read and write"),
    "bytes-written": FactKind(Rule.TOLD, (), "with debug information, which has the names of source files"),
    "delegates": FactKind(Rule.MORE, ("method", "backend"), "how many delegates there are"),
    "input": FactKind(Rule.SAME, ("method", "index"), "the type of an input"),
    "layer": FactKind(Rule.LAYER, ("method", "module", "operator"), "type, form and multiplications of a layer", True),
    "memory": FactKind(Rule.MORE, ("method",), "most bytes of tensors that nodes of a delegate need at once"),
    "method": FactKind(Rule.SAME, ("method",), "how many inputs and outputs it has"),
    "microseconds": FactKind(Rule.TIME, ("method", "processor"), "predicted for the nodes of delegates, on one thread"),
    "multiply-adds": FactKind(Rule.MORE, ("method",), "multiplications of nodes of delegates"),
    "output": FactKind(Rule.SAME, ("method", "index"), "the type of an output, or the value of a constant"),
    "outside": FactKind(
        Rule.MORE, ("method", "kernel", "module"), "calls of a kernel outside of delegates, and from where"
    ),
    "pass": FactKind(Rule.LESS, ("pass",), "how often a pass ran"),
    "quantised": FactKind(Rule.LESS, ("method",), "how many layers compute on integers, of those that compute"),
    "state": FactKind(Rule.SAME, ("buffer",), "the type of a buffer that keeps its contents from call to call"),
}
"""By the name that a fact begins with; docs/lock.md has this table."""

OF_DELEGATES = ("bytes-moved", "delegates", "memory", "microseconds", "multiply-adds", "quantised")
"""Facts of delegates alone: those that take over what kernels did have more of them, and are no worse."""

Key = tuple[str, ...]
"""A fact's kind and its names."""


def method_of(key: Key) -> str | None:
    """The method that a fact is of; None if it is of the whole file."""
    return key[1] if KINDS[key[0]].of_method else None
