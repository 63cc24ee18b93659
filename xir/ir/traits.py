"""Traits that more than one dialect or pass needs to know of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.ir import Operation
from xdsl.traits import IsolatedFromAbove, MemoryEffect, NoMemoryEffect, OpTrait


@dataclass(frozen=True)
class DistinctOperands(OpTrait):
    """The operands of the op must be different values. A pass that merges values has to check their users for it."""


@dataclass(frozen=True)
class HoldsGraph(OpTrait):
    """The op holds what a backend has made of a part of the program. No op of the program is in there, so that passes
    on those need not look."""


@dataclass(frozen=True)
class VerifiedByTypes(OpTrait):
    """Whether the op verifies follows from its properties, the types of its operands and results, and which attributes
    it has: not from what those hold, nor from the ops around it, and of a constant's elements from their type alone. Of
    equal ones the verifier looks at one.
    """


@dataclass(frozen=True)
class Isolated(IsolatedFromAbove):
    """`IsolatedFromAbove`, for ops with thousands of others inside: the walk of `xir.ir.dominance`, which every
    verification ends with, refuses what is used from outside."""

    def verify(self, op: Operation) -> None:
        """xDSL's looks for the op among the ancestors of each operand, which takes three times as long as that walk."""


@cache
def never_has_effects(kind: type[Operation]) -> bool:
    """Whether no op of a class has side effects, whatever its properties are."""
    effects = kind.get_traits_of_type(MemoryEffect)
    return bool(effects) and all(isinstance(effect, NoMemoryEffect) for effect in effects)
