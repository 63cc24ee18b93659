"""4-bit integers, two to a byte.

The even element of a row is in the low half of its byte, each with 8 added; a row starts at a byte, and what is left of
its last byte is 0, stored as 8. Source: `convert_to_qc4w` of `backends/xnnpack/operators/node_visitor.py` in
pytorch/executorch 1.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

ZERO = 8
"""What is added to an element to store it, and what XNNPACK is told to be zero."""

BLOCK = 1 << 20
"""About how many elements are packed or unpacked at a time, so that what is computed in between takes little memory."""


@dataclass(frozen=True)
class Packed:
    """Integers from −8 to 7 in half the memory."""

    bytes: np.ndarray
    """`uint8` of shape [rows, bytes of a row], C order."""
    shape: tuple[int, ...]
    """Of the integers; the last dimension is a row."""

    @property
    def size(self) -> int:
        """How many integers there are."""
        return prod(self.shape)

    def split(self, size: int) -> Iterator[Packed]:
        """In order, parts of whole rows, of about so many integers each."""
        row = self.shape[-1]
        step = max(size // max(row, 1), 1)
        for begin in range(0, len(self.bytes), step):
            part = self.bytes[begin : begin + step]
            yield Packed(part, (len(part), row))


class Unpacked(np.ndarray):
    """An int8 array that was unpacked, read-only; who keeps it may keep its packed form in its place."""

    packed: Packed | None = None
    """None for what was computed from such an array."""


def packed_size(shape: Sequence[int]) -> int:
    """How many bytes the elements of `shape` take."""
    return prod(shape[:-1]) * row_size(shape)


def row_size(shape: Sequence[int]) -> int:
    """How many bytes the last dimension takes."""
    return (shape[-1] + 1) // 2


def pack(array: np.ndarray) -> Packed:
    """The packed form of integers from −8 to 7, of rank 1 or more; ValueError if others occur."""
    if isinstance(array, Unpacked) and array.packed is not None:
        return array.packed
    rows = array.reshape(prod(array.shape[:-1]), array.shape[-1])
    packed = np.empty((len(rows), row_size(array.shape)), np.uint8)
    step = max(BLOCK // max(array.shape[-1], 1), 1)
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        if part.size and (part.min() < -ZERO or part.max() >= ZERO):
            raise ValueError(f"4-bit integers are from {-ZERO} to {ZERO - 1}, these are up to {part.max()}")
        raised = (part + ZERO).astype(np.uint8)
        if array.shape[-1] % 2:
            raised = np.concatenate([raised, np.full((len(part), 1), ZERO, np.uint8)], -1)
        packed[begin : begin + step] = raised[:, 0::2] | raised[:, 1::2] << 4
    return Packed(packed, array.shape)


def unpack(packed: Packed) -> Unpacked:
    """The int8 array of packed integers."""
    width = packed.shape[-1]
    elements = np.empty((len(packed.bytes), width), np.int8)
    step = max(BLOCK // max(width, 1), 1)
    for begin in range(0, len(elements), step):
        part = packed.bytes[begin : begin + step]
        elements[begin : begin + step, 0::2] = (part & 0xF).view(np.int8) - np.int8(ZERO)
        elements[begin : begin + step, 1::2] = ((part >> 4).view(np.int8) - np.int8(ZERO))[:, : width // 2]
    elements.flags.writeable = False
    result = elements.reshape(packed.shape).view(Unpacked)
    result.packed = packed
    return result
