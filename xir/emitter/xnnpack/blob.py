"""The layout of an XNNPACK delegate's bytes, which `writer` and `reader` fill and empty.

    byte 0   u32 0                                  byte 14  u32 size of the FlatBuffer
    byte 4   "XH00"                                 byte 18  u32 offset of the constant data
    byte 8   u16 header length (30)                 byte 22  u64 size of the constant data
    byte 10  u32 offset of the FlatBuffer (32)

Bytes that do not start so are a FlatBuffer without a header. Source: `backends/xnnpack/runtime/XNNHeader.cpp` of
pytorch/executorch 1.5.
"""

from __future__ import annotations

import struct

from xir.emitter.container import align
from xir.emitter.errors import FormatError

MAGIC = b"XH00"
IN_NAMED_DATA = 2**64 - 1
"""The offset of a constant that is not in the delegate's bytes but in the program's named data."""
EXTERNAL_INPUT, EXTERNAL_OUTPUT = 1, 2
"""The flags of a value."""

_HEADER = struct.Struct("<I4sHIIIQ")
_ALIGNMENT = 16


def pack_blob(graph: bytes) -> bytes:
    """A delegate's bytes: the header and the FlatBuffer, no constant data."""
    start = align(_HEADER.size, _ALIGNMENT)
    end = start + align(len(graph), _ALIGNMENT)
    header = _HEADER.pack(0, MAGIC, _HEADER.size, start, len(graph), end, 0)
    return header.ljust(start, b"\0") + graph.ljust(end - start, b"\0")


def split_blob(data: memoryview) -> tuple[memoryview, memoryview, int]:
    """The FlatBuffer, the constant data, and the offset of the FlatBuffer. Raises FormatError."""
    if len(data) < _HEADER.size or bytes(data[4:8]) != MAGIC:
        return data, data[:0], 0
    _, _, length, start, size, constants, constants_size = _HEADER.unpack_from(data)
    if length < _HEADER.size:
        raise FormatError(f"a delegate's header of {length} bytes is too short", offset=8)
    if start < _HEADER.size or start + size > len(data):
        raise FormatError(
            f"the delegate's FlatBuffer at {start} of {size} bytes leaves its {len(data)} bytes", offset=10
        )
    if constants_size and (constants < start + size or constants + constants_size > len(data)):
        raise FormatError(
            f"the delegate's constant data at {constants} of {constants_size} bytes is misplaced", offset=18
        )
    region = data[constants : constants + constants_size] if constants_size else data[:0]
    return data[start : start + size], region, start
