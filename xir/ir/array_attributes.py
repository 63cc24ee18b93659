"""Arrays of numbers as attributes."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType


def ints(attribute: DenseArrayBase) -> tuple[int, ...]:
    """The values of an integer array attribute, such as `array<i64: 1, 2>`."""
    return tuple(int(value) for value in cast("DenseArrayBase[IntegerType]", attribute).get_values())
