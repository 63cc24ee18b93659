"""Traits that more than one dialect or pass needs to know of."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.traits import OpTrait


@dataclass(frozen=True)
class DistinctOperands(OpTrait):
    """No two operands of the op may be one value. A pass that merges values looks at their users for it."""
