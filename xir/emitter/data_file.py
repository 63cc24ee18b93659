"""A `.ptd` file: bytes under keys, which programs name and do not hold.

    byte 0   u32 offset of the root table      the first 8 bytes are the FlatBuffer's own head;
    byte 4   "FT01"                            its remainder follows the header
    byte 8   "FH01", u32 header length (40), u64 offset and u64 size of that remainder, u64 segment base,
             u64 size of all segments
    byte 48  the rest of the FlatBuffer
    base     segments, each at a multiple of 128 from the base, zeros between them, none after the last

Integers are little-endian. Source: `extension/flat_tensor/serialize/flat_tensor_header.h` of pytorch/executorch 1.5.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xir.dialects.pte import element_size, scalar_type
from xir.emitter.codec import Buffer, Tree, decode, encode
from xir.emitter.container import SEGMENT_ALIGNMENT, Segment, Sink, align, map_file, place_segments, write_segments
from xir.emitter.data import Data
from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema

MAGIC = b"FH01"
VERSION = 0

_HEAD = struct.Struct("<I4s")
_HEADER = struct.Struct("<4sIQQQQ")


@dataclass(frozen=True)
class NamedBytes:
    """What a file has under a key: a view of its bytes."""

    data: memoryview
    layout: Tree | None
    """Type, sizes and order of the dimensions, if it is a tensor; the bytes are enough for that."""

    def is_tensor(self, tensor: Tree) -> bool:
        """Whether a program's `Tensor` is the one that was stored; anything may be without a layout."""
        if self.layout is None:
            return True
        return _layout_of(self.layout) == _layout_of(tensor)


def read_data_file(buffer: Buffer) -> dict[str, NamedBytes]:
    """What a `.ptd` file holds, by its keys; the bytes are views of `buffer`. FormatError for a damaged file."""
    data = memoryview(buffer).toreadonly().cast("B")
    if len(data) < _HEAD.size + _HEADER.size:
        raise FormatError(f"{len(data)} bytes are too few for a file of weights")
    magic, length, begin, size, base, segments_size = _HEADER.unpack_from(data, _HEAD.size)
    if magic != MAGIC or length != _HEADER.size:
        raise FormatError("this is no file of weights (.ptd): its header is another", offset=_HEAD.size)
    if begin + size > len(data) or base + segments_size > len(data):
        raise FormatError(f"the header speaks of more than the file's {len(data)} bytes", offset=_HEAD.size)
    tree = decode(load_schema("data"), data[: begin + size])
    if tree["version"] != VERSION:
        raise FormatError(f"version {tree['version']} is not {VERSION}", path="FlatTensor.version")
    found: dict[str, NamedBytes] = {}
    for index, entry in enumerate(tree.get("named_data", ())):
        path = f"FlatTensor.named_data[{index}]"
        key = entry.get("key")
        if key is None or key in found:
            raise FormatError("named data needs a key of its own", path=path)
        content = _segment(tree.get("segments", ()), entry["segment_index"], data[base : base + segments_size], path)
        layout = entry.get("tensor_layout")
        if layout is not None:
            _check_layout(layout, len(content), path)
        found[key] = NamedBytes(content, layout)
    return found


def read_weights(paths: Sequence[str | os.PathLike[str]]) -> dict[str, NamedBytes]:
    """What several files hold, which are mapped and stay in use. FormatError for a damaged one, and for a key that two
    have; OSError for one that cannot be opened."""
    found: dict[str, NamedBytes] = {}
    for path in paths:
        name = os.fspath(path)
        try:
            own = read_data_file(map_file(name))
        except FormatError as error:
            raise FormatError(f"{name}: {error}") from None
        if twice := found.keys() & own.keys():
            raise FormatError(f'{name}: "{min(twice)}" is in another file of weights as well')
        found |= own
    return found


def _segment(segments: Sequence[Tree], index: int, data: memoryview, path: str) -> memoryview:
    if index >= len(segments):
        raise FormatError(f"there is no segment {index}", path=path)
    start, size = segments[index]["offset"], segments[index]["size"]
    if start + size > len(data):
        raise FormatError(f"segment {index} reaches beyond the {len(data)} bytes of all segments", path=path)
    return data[start : start + size]


def _check_layout(layout: Tree, size: int, path: str) -> None:
    number, sizes, order = _layout_of(layout)
    element = scalar_type(number)
    if element is None:
        raise FormatError(f"the scalar type {number} is not known", path=path)
    if any(each < 0 for each in sizes) or sorted(order) != list(range(len(sizes))):
        raise FormatError(f"the sizes {sizes} in the order {order} are of no tensor", path=path)
    if (needed := math.prod(sizes) * element_size(element)) > size:
        raise FormatError(f"it has {size} bytes, and its layout takes {needed}", path=path)


def _layout_of(tree: Tree) -> tuple[int, list[int], list[int]]:
    return tree["scalar_type"], list(tree.get("sizes", ())), list(tree.get("dim_order", ()))


class KnownData:
    """What `.ptd` files have that a program goes on reading there."""

    def __init__(self, weights: Mapping[str, NamedBytes]):
        self.weights = weights
        self._digests: dict[str, bytes] = {}
        self._of_size: dict[int, list[str]] = {}
        """The keys of tensors by how many bytes they have."""
        for key, entry in weights.items():
            if entry.layout is not None:
                self._of_size.setdefault(len(entry.data), []).append(key)

    def has(self, key: str, data: Data) -> bool:
        """Whether just these bytes are there under a key, such as a delegate's weights."""
        entry = self.weights.get(key)
        return entry is not None and len(entry.data) == data.size and self._digest(key) == data.digest

    def key_of_tensor(self, data: Data, tensor: Tree) -> str | None:
        """The key under which a program's `Tensor` is there; None if it is not."""
        for key in self._of_size.get(data.size, ()):
            if self.weights[key].is_tensor(tensor) and self._digest(key) == data.digest:
                return key
        return None

    def _digest(self, key: str) -> bytes:
        if key not in self._digests:
            self._digests[key] = hashlib.sha256(self.weights[key].data).digest()
        return self._digests[key]


class DataFile:
    """What goes into a `.ptd` file. Equal bytes are stored once, also under several keys."""

    def __init__(self) -> None:
        self._entries: dict[str, Tree] = {}
        self._segments: dict[bytes, Data] = {}
        self._indices: dict[bytes, int] = {}

    def add(self, key: str, data: Data) -> None:
        """Bytes without a layout, such as a delegate's weights."""
        index = self._indices.setdefault(data.digest, len(self._indices))
        self._segments.setdefault(data.digest, data)
        self._entries[key] = {"key": key, "segment_index": index}

    def add_tensor(self, data: Data, scalar_type: int, sizes: list[int], dim_order: bytes) -> str:
        """A tensor's elements. Returns their key, which tells bytes and layout, so that no other tensor has it."""
        shape = "x".join(map(str, sizes))
        order = "".join(map(str, dim_order))
        key = f"{data.digest.hex()}.{scalar_type}.{shape}.{order}"
        self.add(key, data)
        self._entries[key]["tensor_layout"] = {"scalar_type": scalar_type, "sizes": sizes, "dim_order": dim_order}
        return key

    def write(self, sink: Sink) -> None:
        """Write the file, each segment piece by piece. FormatError if data has not as many bytes as it says."""
        segments = [Segment(data.size, data.chunks) for data in self._segments.values()]
        offsets, end = place_segments(segments, SEGMENT_ALIGNMENT)
        flatbuffer = encode(
            load_schema("data"),
            {
                "version": VERSION,
                "segments": [
                    {"offset": offset, "size": segment.size} for offset, segment in zip(offsets, segments, strict=True)
                ],
                "named_data": list(self._entries.values()),
            },
        )
        root, identifier = _HEAD.unpack_from(flatbuffer)
        begin = _HEAD.size + _HEADER.size
        position = len(flatbuffer) + _HEADER.size
        base = align(position, SEGMENT_ALIGNMENT)
        sink.write(_HEAD.pack(root + _HEADER.size, identifier))
        sink.write(_HEADER.pack(MAGIC, _HEADER.size, begin, position - begin, base, end))
        sink.write(memoryview(flatbuffer)[_HEAD.size :])
        write_segments(sink, segments, offsets, base, position)
