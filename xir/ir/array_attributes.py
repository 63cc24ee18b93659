"""Arrays of numbers as attributes."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType


def ints(attribute: DenseArrayBase) -> tuple[int, ...]:
    """The values of an integer array attribute, such as `array<i64: 1, 2>`."""
    element = attribute.elt_type
    code = _CODES.get(element.width.data) if isinstance(element, IntegerType) else None
    if code is not None:
        return _unpacked(attribute.data.data, code)
    return tuple(int(value) for value in cast("DenseArrayBase[IntegerType]", attribute).get_values())


_CODES = {32: "i", 64: "q"}
"""The `struct` codes of the widths that the dialects use."""


@lru_cache(maxsize=8192)
def _unpacked(data: bytes, code: str) -> tuple[int, ...]:
    """Programs have few different arrays, and passes read each of them many times."""
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
