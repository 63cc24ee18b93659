"""Arrays of numbers as attributes."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i64


def ints(attribute: DenseArrayBase) -> tuple[int, ...]:
    """The values of an integer array attribute, such as `array<i64: 1, 2>`."""
    if attribute.elt_type is i64:
        return _i64s(attribute.data.data)
    return tuple(int(value) for value in cast("DenseArrayBase[IntegerType]", attribute).get_values())


@lru_cache(maxsize=8192)
def _i64s(data: bytes) -> tuple[int, ...]:
    """Programs have few different arrays, and passes read each of them many times."""
    return struct.unpack(f"<{len(data) // 8}q", data)
