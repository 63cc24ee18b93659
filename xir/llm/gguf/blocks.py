"""The element types of GGUF's tensors: how many elements a block has, in how many bytes, and what they stand for.

The types and the fields of their blocks are those of ggml (`ggml-common.h`, https://github.com/ggml-org/ggml); d and m
are fp16 scales and minima, q the integers. In blocks of 32 of 4 and 5 bits, byte i has element i in its low bits and
element i + 16 in its high ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[Any]
"""fp32."""


@dataclass(frozen=True)
class Block:
    """A type of elements."""

    name: str
    elements: int
    bytes: int
    numbers: Callable[[Bytes], Numbers]
    """Of blocks, u8 [n, bytes], their elements, [n, elements]."""


def dequantized(content: Bytes, kind: int) -> Numbers:
    """The elements of whole blocks of a type of `BLOCKS`, fp32 in one dimension."""
    block = BLOCKS[kind]
    return block.numbers(content.reshape(-1, block.bytes)).ravel()


def _fp16(blocks: Bytes, at: int) -> Numbers:
    """The fp16 number at a byte of each block, [n, 1]."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _nibbles(blocks: Bytes) -> Numbers:
    """[n, 16] bytes to [n, 32] integers from 0 to 15."""
    return np.concatenate([blocks & 15, blocks >> 4], axis=1).astype(np.float32)


def _fifth_bits(blocks: Bytes) -> Numbers:
    """[n, 4] bytes to [n, 32]: 16 where bit i is set."""
    return np.unpackbits(blocks, axis=1, bitorder="little").astype(np.float32) * np.float32(16)


def _f32(blocks: Bytes) -> Numbers:
    return np.ascontiguousarray(blocks).view("<f4").astype(np.float32)


def _f16(blocks: Bytes) -> Numbers:
    return _fp16(blocks, 0)


def _bf16(blocks: Bytes) -> Numbers:
    return (np.ascontiguousarray(blocks).view("<u2").astype(np.uint32) << 16).view(np.float32)


def _q4_0(blocks: Bytes) -> Numbers:
    """d · (q − 8)"""
    return _fp16(blocks, 0) * (_nibbles(blocks[:, 2:]) - np.float32(8))


def _q4_1(blocks: Bytes) -> Numbers:
    """d · q + m"""
    return _fp16(blocks, 0) * _nibbles(blocks[:, 4:]) + _fp16(blocks, 2)


def _q5_0(blocks: Bytes) -> Numbers:
    """d · (q − 16)"""
    return _fp16(blocks, 0) * (_nibbles(blocks[:, 6:]) + _fifth_bits(blocks[:, 2:6]) - np.float32(16))


def _q5_1(blocks: Bytes) -> Numbers:
    """d · q + m"""
    return _fp16(blocks, 0) * (_nibbles(blocks[:, 8:]) + _fifth_bits(blocks[:, 4:8])) + _fp16(blocks, 2)


def _q8_0(blocks: Bytes) -> Numbers:
    """d · q, q from −128 to 127"""
    return _fp16(blocks, 0) * blocks[:, 2:].view(np.int8).astype(np.float32)


def _q4_k(blocks: Bytes) -> Numbers:
    """d · a · q − m · b, with 6-bit a and b for each 32 of 256 elements; d, m, 12 bytes of a and b, 128 of q"""
    first, second, third = (blocks[:, begin : begin + 4] for begin in (4, 8, 12))
    factors = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=1).astype(np.float32)
    minima = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1).astype(np.float32)
    # Of each 32 bytes, the low halves are 32 elements and the high ones the next.
    packed = blocks[:, 16:].reshape(len(blocks), 4, 1, 32)
    integers = np.concatenate([packed & 15, packed >> 4], axis=2).reshape(len(blocks), 8, 32).astype(np.float32)
    scaled = (_fp16(blocks, 0) * factors)[:, :, None] * integers - (_fp16(blocks, 2) * minima)[:, :, None]
    return scaled.reshape(len(blocks), 256)


def _q6_k(blocks: Bytes) -> Numbers:
    """d · a · (q − 32), with an 8-bit a for each 16 of 256 elements; 128 bytes of q's low bits, 64 of its high, a, d"""
    low = blocks[:, :128].reshape(-1, 2, 1, 64)
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 2, 4, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts & 3
    integers = (low | high << 4).reshape(len(blocks), 16, 16).astype(np.float32) - np.float32(32)
    factors = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8).astype(np.float32)
    return ((_fp16(blocks, 208) * factors)[:, :, None] * integers).reshape(len(blocks), 256)


BLOCKS = {
    0: Block("F32", 1, 4, _f32),
    1: Block("F16", 1, 2, _f16),
    2: Block("Q4_0", 32, 18, _q4_0),
    3: Block("Q4_1", 32, 20, _q4_1),
    6: Block("Q5_0", 32, 22, _q5_0),
    7: Block("Q5_1", 32, 24, _q5_1),
    8: Block("Q8_0", 32, 34, _q8_0),
    12: Block("Q4_K", 256, 144, _q4_k),
    14: Block("Q6_K", 256, 210, _q6_k),
    30: Block("BF16", 1, 2, _bf16),
}
"""Types by their number in the file."""
