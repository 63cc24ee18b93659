"""Writes GGUF files, by the specification, for tests of what reads them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def text(value: str) -> bytes:
    content = value.encode()
    return struct.pack("<Q", len(content)) + content


def value_of(value: Any) -> bytes:
    """A value with its type before it."""
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + text(value)
        case list() if all(isinstance(each, str) for each in value):
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        case list():
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
        case _:
            raise NotImplementedError(type(value))


def f32(values: np.ndarray) -> bytes:
    return values.astype("<f4").tobytes()


def f16(values: np.ndarray) -> bytes:
    return values.astype("<f2").tobytes()


def bf16(values: np.ndarray) -> bytes:
    return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()


def q8_0(values: np.ndarray) -> bytes:
    blocks = values.reshape(-1, 32)
    scales = np.maximum(np.abs(blocks).max(1) / 127, 1e-6).astype("<f2")
    found = [scale.tobytes() + np.round(row / scale).astype("i1").tobytes() for scale, row in zip(scales, blocks)]  # noqa: B905
    return b"".join(found)


def q4_0(values: np.ndarray) -> bytes:
    found: list[bytes] = []
    for row in values.reshape(-1, 32):
        scale = np.float16(np.abs(row).max() / 7 + 1e-6)
        integers = (np.clip(np.round(row / scale), -8, 7) + 8).astype("u1")
        found.append(scale.tobytes() + (integers[:16] | integers[16:] << 4).tobytes())
    return b"".join(found)


def q4_1(values: np.ndarray) -> bytes:
    found: list[bytes] = []
    for row in values.reshape(-1, 32):
        least, scale = np.float16(row.min()), np.float16((row.max() - row.min()) / 15 + 1e-6)
        integers = np.clip(np.round((row - least) / scale), 0, 15).astype("u1")
        found.append(scale.tobytes() + least.tobytes() + (integers[:16] | integers[16:] << 4).tobytes())
    return b"".join(found)


Encode = Callable[[np.ndarray], bytes]

TYPES: dict[str, tuple[int, Encode]] = {
    "F32": (0, f32), "F16": (1, f16), "Q4_0": (2, q4_0), "Q4_1": (3, q4_1), "Q8_0": (8, q8_0), "BF16": (30, bf16),
}  # fmt: skip


def write_gguf(
    path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, tuple[str, np.ndarray]], version: int = 3
) -> None:
    """Tensors are a type's name and numbers."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    head += b"".join(text(name) + value_of(value) for name, value in metadata.items())
    data = b""
    for name, (kind, values) in tensors.items():
        number, encode = TYPES[kind]
        shape = values.shape[::-1]
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, len(data))
        data += encode(values)
        data += bytes(-len(data) % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
