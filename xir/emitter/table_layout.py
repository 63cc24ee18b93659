"""Where the fields of a FlatBuffers table lie, as FlatBuffers' own builders put them.

They write from the end of the buffer to its beginning: the first field ends up last, each aligned to its width, and the
offset of the vtable comes before all of them. Source: https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from xir.emitter.fbs import SCALARS, Scalar

PERIOD = 8
"""The largest alignment: the layout of a table that ends so many bytes further ahead is the same."""


@dataclass(frozen=True)
class TableLayout:
    """The layout of a table in which certain fields are present."""

    form: struct.Struct
    """The offset of the vtable, then the fields, the last first."""
    offsets: tuple[tuple[int, int], ...]
    """The fields that point at something: the position of each, and how many bytes before the table's end it is."""
    vtable: bytes
    alignment: int
    """The largest of any field, in bytes."""


Fields: TypeAlias = tuple[tuple[int, Scalar | None], ...]
"""The fields of a table that are present, in order: the slot, and the number that is stored; None for an offset."""


@lru_cache(maxsize=4096)
def table_layout(fields: Fields, end: int) -> TableLayout:
    """The layout of a table that ends `end` bytes before the buffer does, modulo `PERIOD`."""
    at, alignment = end, 4
    codes: list[str] = []
    offsets: list[tuple[int, int]] = []
    slots: dict[int, int] = {}
    for position, (slot, scalar) in enumerate(fields):
        code, width = scalar or SCALARS["uint"]
        padding = -at % width
        at += padding + width
        codes.append(f"{code}{padding}x")
        slots[slot] = at
        alignment = max(alignment, width)
        if scalar is None:
            offsets.append((position, at - end))
    padding = -at % 4
    at += padding + 4
    entries = [at - slots[slot] if slot in slots else 0 for slot in range(max(slots, default=-1) + 1)]
    vtable = struct.pack(f"<{len(entries) + 2}H", 2 * len(entries) + 4, at - end, *entries)
    form = struct.Struct(f"<i{padding}x{''.join(reversed(codes))}")
    return TableLayout(form, tuple(offsets), vtable, alignment)
