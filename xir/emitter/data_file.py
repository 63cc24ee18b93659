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

import struct

from xir.emitter.codec import Tree, encode
from xir.emitter.container import SEGMENT_ALIGNMENT, Segment, Sink, align, place_segments, write_segments
from xir.emitter.data import Data
from xir.emitter.fbs import load_schema

MAGIC = b"FH01"
VERSION = 0

_HEAD = struct.Struct("<I4s")
_HEADER = struct.Struct("<4sIQQQQ")


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
