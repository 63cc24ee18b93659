"""What a GGUF file holds: metadata and tensors.

The layout is that of the specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, little-endian:

    header    "GGUF", u32 version (2 or 3), u64 number of tensors, u64 number of metadata
    metadata  name, u32 type, value
    tensors   name, u32 number of dimensions, u64 of each (the innermost first), u32 type, u64 offset into the data
    data      at the next multiple of `general.alignment` (32)

A string is its u64 length and UTF-8; an array u32 type, u64 length, and its elements.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xir.llm.errors import LlmError
from xir.llm.gguf.blocks import BLOCKS, dequantized

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = 32

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Types of metadata as `struct` calls them."""
_STRING, _ARRAY = 8, 9
_DEEPEST = 4
"""Arrays of arrays are legal; this many levels are read."""


@dataclass(frozen=True)
class Tensor:
    """Where a tensor is."""

    shape: tuple[int, ...]
    """The outermost dimension first, as NumPy has it."""
    type: int
    """A key of `BLOCKS`."""
    begin: int
    """Its first byte in the file."""
    size: int
    """In bytes."""


class GgufFile:
    """A file of models, mapped. LlmError for one that is no GGUF, is damaged, or ends too early."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        if self.path.stat().st_size < len(MAGIC):
            raise LlmError(f"{self.path}: no GGUF file: it has {self.path.stat().st_size} bytes")
        self._bytes: NDArray[np.uint8] = np.memmap(self.path, np.uint8, "r")
        cursor = _Cursor(self.path, memoryview(self._bytes))  # pyright: ignore[reportArgumentType]
        if (magic := cursor.take(4)) != MAGIC:
            raise LlmError(f"{self.path}: no GGUF file: it begins with {magic!r}, not {MAGIC!r}")
        version = cursor.number("I")
        if version not in VERSIONS:
            raise LlmError(f"{self.path}: GGUF version {version} is not known: convert it to version 3")
        tensors, metadata = cursor.number("Q"), cursor.number("Q")
        self.metadata: dict[str, Any] = {}
        for _ in range(metadata):
            name = cursor.text()
            self.metadata[name] = cursor.value(cursor.number("I"))
        found = [_tensor(cursor) for _ in range(tensors)]
        alignment = self.metadata.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0:
            raise LlmError(f"{self.path}: general.alignment is {alignment!r}, no positive number")
        data = -(-cursor.place // alignment) * alignment
        self.tensors: dict[str, Tensor] = {}
        for name, shape, kind, offset in found:
            if name in self.tensors:
                raise LlmError(f"{self.path}: there are two tensors '{name}'")
            self.tensors[name] = self._placed(name, shape, kind, data + offset)

    def _placed(self, name: str, shape: tuple[int, ...], kind: int, begin: int) -> Tensor:
        block = BLOCKS.get(kind)
        if block is None:
            known = ", ".join(each.name for each in BLOCKS.values())
            raise LlmError(f"{self.path}: tensor '{name}' has type {kind}, which is not read; those that are: {known}")
        if not shape or shape[-1] % block.elements:
            raise LlmError(f"{self.path}: tensor '{name}' has rows of {shape[-1:]} elements, no blocks of {block.name}")
        size = prod(shape) // block.elements * block.bytes
        if begin + size > len(self._bytes):
            raise LlmError(
                f"{self.path}: tensor '{name}' ends at byte {begin + size} of {len(self._bytes)}: get the file again"
            )
        return Tensor(shape, kind, begin, size)

    def array(self, name: str) -> NDArray[np.float32]:
        """A tensor's numbers, fp32. KeyError if there is none of this name."""
        tensor = self.tensors[name]
        part = self._bytes[tensor.begin : tensor.begin + tensor.size]
        return dequantized(part, tensor.type).reshape(tensor.shape)

    def expect(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """A value of the metadata. LlmError if there is none, or it is of another type."""
        value = self.metadata.get(name)
        if not isinstance(value, kind):
            said = "missing" if value is None else f"{value!r:.40}, of another type than expected"
            raise LlmError(f"{self.path}: metadata '{name}' is {said}")
        return value


class _Cursor:
    """Reads a file from its beginning on."""

    def __init__(self, path: Path, content: memoryview):
        self.path = path
        self._content = content
        self.place = 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        end = self.place + count
        if end > len(self._content):
            raise LlmError(f"{self.path}: damaged: byte {self.place} wants {count} more of {len(self._content)}")
        found = self._content[self.place : end].tobytes()
        self.place = end
        return found

    def number(self, kind: str) -> Any:
        """The next number, in a letter of `struct`."""
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0]

    def text(self) -> str:
        """The next string."""
        begin, content = self.place, self.take(self.number("Q"))
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise LlmError(f"{self.path}: the string at byte {begin} is no UTF-8: {error.reason}") from error

    def value(self, kind: int, depth: int = 0) -> Any:
        """The next value of a type."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY or depth == _DEEPEST:
            raise LlmError(f"{self.path}: metadata at byte {self.place} has the unknown type {kind}")
        element, count = self.number("I"), self.number("Q")
        if element not in _NUMBERS:
            return [self.value(element, depth + 1) for _ in range(self._checked(count))]
        form = f"<{self._checked(count)}{_NUMBERS[element]}"
        return list(struct.unpack(form, self.take(struct.calcsize(form))))

    def _checked(self, count: int) -> int:
        """A count of elements, of which each takes a byte at least."""
        if count > len(self._content) - self.place:
            raise LlmError(f"{self.path}: damaged: {count} elements at byte {self.place} of {len(self._content)}")
        return count


def _tensor(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name, dimensions = cursor.text(), cursor.number("I")
    if dimensions > 8:
        raise LlmError(f"{cursor.path}: damaged: tensor '{name}' has {dimensions} dimensions")
    shape = tuple(reversed([cursor.number("Q") for _ in range(dimensions)]))
    return name, shape, cursor.number("I"), cursor.number("Q")
