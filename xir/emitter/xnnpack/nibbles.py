"""4-bit integers, two to a byte.

The even element of a row is in the low half of its byte, each with 8 added; a row starts at a byte, and what is left of
its last byte is 0, stored as 8. Source: `convert_to_qc4w` of `backends/xnnpack/operators/node_visitor.py` in
pytorch/executorch 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

ZERO = 8
"""What is added to an element to store it, and what XNNPACK is told to be zero."""


def packed_size(shape: Sequence[int]) -> int:
    """How many bytes the elements of `shape` take."""
    return prod(shape[:-1]) * ((shape[-1] + 1) // 2)


def pack(array: np.ndarray) -> bytes:
    """The bytes of integers from −8 to 7; ValueError if others occur."""
    if array.size and (array.min() < -ZERO or array.max() >= ZERO):
        raise ValueError(f"4-bit integers are from {-ZERO} to {ZERO - 1}, these are up to {array.max()}")
    raised = (array + ZERO).astype(np.uint8)
    if array.shape[-1] % 2:
        raised = np.concatenate([raised, np.full((*array.shape[:-1], 1), ZERO, np.uint8)], -1)
    return (raised[..., 0::2] | raised[..., 1::2] << 4).tobytes()


def unpack(data: memoryview, shape: Sequence[int]) -> np.ndarray:
    """The int8 array of `shape` from its bytes, as many as `packed_size` says."""
    halves = np.frombuffer(data, np.uint8).reshape(*shape[:-1], -1)
    raised = np.stack([halves & 0xF, halves >> 4], -1).reshape(*shape[:-1], -1)
    return np.ascontiguousarray(raised[..., : shape[-1]]).astype(np.int8) - np.int8(ZERO)
