"""The `.pte` container: a program FlatBuffer, then segments of raw bytes that it refers to by index.

    byte 0   u32 offset of the root table      the first 8 bytes are the FlatBuffer's own head;
    byte 4   "ET12"                            its remainder follows the extended header
    byte 8   "eh00", u32 header length (32), u64 program size, u64 segment base, u64 size of all segments
    byte 40  the rest of the FlatBuffer, up to the program size, which counts from byte 0
    base     segments, each at a multiple of 128 from the base, zeros between them, none after the last;
             a segment may also be a part of an earlier one

A program without segment data has no extended header: the file is the FlatBuffer. Integers are little-endian. Sources:
`schema/extended_header.cpp` and `exir/_serialize/_program.py` of pytorch/executorch 1.5.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xir.emitter.codec import Buffer, Tree, decode, encode
from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema

MAGIC = b"eh00"
BUNDLED = b"BP08"
"""The identifier of a program with test cases around it, as ExecuTorch's devtools write it (`bundled_program.fbs`)."""

SEGMENT_ALIGNMENT = 128
TENSOR_ALIGNMENT = 16
"""Of the constants inside the constant segment, and of every planned tensor."""

_HEAD = struct.Struct("<I4s")
_HEADER = struct.Struct("<4sIQQQ")
_MIN_HEADER_LENGTH = 24
_ZEROS = bytes(SEGMENT_ALIGNMENT)


class Sink(Protocol):
    """What a file is written to: anything with `write`. Seeking is not needed."""

    def write(self, data: Buffer, /) -> object: ...


@dataclass(frozen=True)
class Segment:
    """Raw bytes to be written: their size, the alignment they ask for, and a way to go through them in pieces."""

    size: int
    chunks: Callable[[], Iterable[Buffer]]
    alignment: int = 1
    inside: tuple[int, int] | None = None
    """The index of an earlier segment that has these bytes, and where in it: they are not written again."""

    @staticmethod
    def of(data: Buffer, alignment: int = 1) -> Segment:
        """A segment of bytes that are in memory anyway."""
        return Segment(len(data), lambda: (data,), alignment)


@dataclass(frozen=True)
class Container:
    """A file that has been read: the `Program` tree and its segments, views of the file's bytes.

    `segment_base` is the offset of the segments in the file, 0 if the file has no extended header.
    """

    program: Tree
    segments: list[memoryview]
    segment_base: int


def align(size: int, alignment: int) -> int:
    """The least multiple of `alignment` that is not below `size`."""
    return -(-size // alignment) * alignment


def write_container(
    sink: Sink, program: Tree, segments: Sequence[Segment], segment_alignment: int = SEGMENT_ALIGNMENT
) -> None:
    """Write a `.pte`: `program` (a `Program` tree; its `segments` field is filled in here) and the segments' bytes.

    The segments are asked for their bytes once, in order, and each piece is written before the next is asked for.
    `segment_alignment` is a power of two, in bytes.
    Raises FormatError when a segment yields another number of bytes than its size says.
    """
    offsets, end = place_segments(segments, segment_alignment)
    table = [{"offset": offset, "size": segment.size} for offset, segment in zip(offsets, segments, strict=True)]
    flatbuffer = encode(load_schema("program"), {**program, "segments": table})
    if not any(segment.size for segment in segments):
        sink.write(flatbuffer)
        return
    root, identifier = _HEAD.unpack_from(flatbuffer)
    program_size = len(flatbuffer) + _HEADER.size
    base = align(program_size, segment_alignment)
    sink.write(_HEAD.pack(root + _HEADER.size, identifier))
    sink.write(_HEADER.pack(MAGIC, _HEADER.size, program_size, base, end))
    sink.write(memoryview(flatbuffer)[_HEAD.size :])
    write_segments(sink, segments, offsets, base, program_size)


def place_segments(segments: Sequence[Segment], segment_alignment: int) -> tuple[list[int], int]:
    """Where each segment begins, counted from the first one's base, and where the last one ends."""
    offsets: list[int] = []
    end = 0
    for segment in segments:
        if segment.inside is not None:
            outer, start = segment.inside
            offsets.append(offsets[outer] + start)
            continue
        offsets.append(align(end, math.lcm(segment_alignment, segment.alignment)))
        end = offsets[-1] + segment.size
    return offsets, end


def write_segments(sink: Sink, segments: Sequence[Segment], offsets: Sequence[int], base: int, position: int) -> None:
    """Write the segments at their offsets from `base` to a file of which `position` bytes are written.

    Raises FormatError when a segment yields another number of bytes than its size says.
    """
    for index, (offset, segment) in enumerate(zip(offsets, segments, strict=True)):
        if segment.size == 0 or segment.inside is not None:
            continue
        _pad(sink, base + offset - position)
        position = base + offset
        for chunk in segment.chunks():
            sink.write(chunk)
            position += len(chunk)
        if position != base + offset + segment.size:
            raise FormatError(f"segment {index} has {position - base - offset} bytes, its size says {segment.size}")


def _pad(sink: Sink, count: int) -> None:
    for start in range(0, count, len(_ZEROS)):
        sink.write(_ZEROS[: count - start])


def read_container(buffer: Buffer) -> Container:
    """Read a `.pte` from bytes or a mapped file, which stays in use by the result. Raises FormatError."""
    data = memoryview(buffer).toreadonly().cast("B")
    program_size, base = _extended_header(data)
    if bytes(data[4:8]) == BUNDLED:
        raise FormatError("this is a bundled program, with inputs and results to test it on: give the .pte in it")
    program = decode(load_schema("program"), data[:program_size])
    segments: list[memoryview] = []
    for index, entry in enumerate(program.get("segments", ())):
        start, size = base + entry["offset"], entry["size"]
        if size and not base:
            raise FormatError("the file has segments but no extended header", path=f"Program.segments[{index}]")
        if start + size > len(data):
            raise FormatError(
                f"the segment's {size} bytes reach beyond the end of the file, byte {len(data)}",
                offset=start,
                path=f"Program.segments[{index}]",
            )
        segments.append(data[start : start + size])
    return Container(program, segments, base)


def _extended_header(data: memoryview) -> tuple[int, int]:
    """The program's size and the segments' base, (size of the data, 0) without an extended header."""
    if bytes(data[_HEAD.size : _HEAD.size + 4]) != MAGIC:
        return len(data), 0
    # A header of 24 bytes lacks the last field.
    if len(data) < _HEAD.size + _HEADER.size:
        raise FormatError("the file ends inside its extended header", offset=len(data))
    _, length, program_size, base, _ = _HEADER.unpack_from(data, _HEAD.size)
    if length < _MIN_HEADER_LENGTH:
        raise FormatError(f"an extended header of {length} bytes is too short", offset=_HEAD.size + 4)
    if program_size > len(data):
        raise FormatError(
            f"the program's size is {program_size}, the file ends at byte {len(data)}", offset=_HEAD.size + 8
        )
    if base and not program_size <= base <= len(data):
        raise FormatError(f"the segments' base {base} is outside the file", offset=_HEAD.size + 16)
    return program_size, base


def map_file(path: str | Path) -> Buffer:
    """A file's bytes, mapped where that is possible. The mapping lives as long as something refers to it."""
    with open(path, "rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError):
            # An empty file or a pipe.
            return file.read()
