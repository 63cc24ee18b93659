"""Traits that more than one dialect or pass needs to know of."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.traits import OpTrait


@dataclass(frozen=True)
class DistinctOperands(OpTrait):
    """The operands of the op must be different values. A pass that merges values has to check their users for it."""
