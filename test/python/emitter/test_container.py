"""The `.pte` container: where its bytes are, how they get there, and what it refuses."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from xir.emitter.container import Segment, map_file, read_container, write_container
from xir.emitter.errors import FormatError

PROGRAM = {"version": 0, "execution_plan": [{"name": "forward"}], "constant_segment": {"offsets": [0]}}


def written(segments: list[Segment], alignment: int = 128) -> bytes:
    sink = io.BytesIO()
    write_container(sink, PROGRAM, segments, alignment)
    return sink.getvalue()


@pytest.mark.parametrize("alignment", [128, 4096])
def test_layout(alignment: int):
    contents = [b"a" * 5, b"", b"b" * 300, b"c"]
    data = written(
        [Segment.of(contents[0]), Segment.of(b""), Segment.of(contents[2], 512), Segment.of(b"c")], alignment
    )
    root, identifier, magic, length, size, base, segment_size = struct.unpack_from("<I4s4sIQQQ", data)
    assert (identifier, magic, length) == (b"ET12", b"eh00", 32)
    assert base % alignment == 0
    assert size <= base < size + alignment
    assert base + segment_size == len(data)
    assert 40 <= root < size
    container = read_container(data)
    assert [bytes(segment) for segment in container.segments] == contents
    offsets = [entry["offset"] for entry in container.program["segments"]]
    step = max(alignment, 512)
    assert offsets == [0, alignment, step, step + (384 if alignment == 128 else 4096)]
    assert not any(data[size:base])
    assert {**container.program, "segments": None} == {**read_container(written([])).program, "segments": None}


def test_a_segment_inside_of_another_is_not_written_again():
    def never() -> Iterator[bytes]:
        raise AssertionError

    inner = Segment(3, never, inside=(1, 2))
    data = written([Segment.of(b"a"), Segment.of(b"bcdefg"), inner, Segment.of(b"h")])
    container = read_container(data)
    assert [bytes(segment) for segment in container.segments] == [b"a", b"bcdefg", b"def", b"h"]
    assert len(data) == container.segment_base + 2 * 128 + 1


def test_without_segment_data_there_is_no_extended_header():
    data = written([Segment.of(b"")])
    assert data[8:12] != b"eh00"
    assert read_container(data).program["segments"] == [{"offset": 0, "size": 0}]
    assert read_container(data).segment_base == 0


def test_pieces_are_written_one_by_one():
    """A segment's next piece is made only after the one before was written, and nothing seeks."""
    log: list[str] = []

    class Sink:
        def write(self, data: object) -> None:
            log.append(f"write {len(memoryview(data))}")  # pyright: ignore[reportArgumentType]

    def chunks() -> Iterator[bytes]:
        for index in range(3):
            log.append(f"make {index}")
            yield bytes(100)

    write_container(Sink(), PROGRAM, [Segment(300, chunks)])
    assert log[-6:] == ["make 0", "write 100", "make 1", "write 100", "make 2", "write 100"]


def test_a_segment_of_another_size_is_an_error():
    with pytest.raises(FormatError, match="segment 0 has 3 bytes, its size says 4"):
        written([Segment(4, lambda: (b"abc",))])


def patched(offset: int, format: str, value: int) -> bytes:
    data = bytearray(written([Segment.of(b"abc")]))
    struct.pack_into(format, data, offset, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes are too few for a FlatBuffer"),
        (b"\0" * 100, "the file identifier is"),
        (written([Segment.of(b"abc")])[:30], "the file ends inside its extended header at byte 30"),
        (patched(12, "<I", 8), "an extended header of 8 bytes is too short at byte 12"),
        (patched(16, "<Q", 1 << 60), "the program's size is 1152921504606846976, the file ends at byte 259"),
        (patched(16, "<Q", 6), "6 bytes are too few for a FlatBuffer"),
        (patched(24, "<Q", 1 << 63), "the segments' base 9223372036854775808 is outside the file"),
        (patched(24, "<Q", 0), "the file has segments but no extended header"),
        (written([Segment.of(b"abc")])[:-1], "the segment's 3 bytes reach beyond the end of the file, byte 258"),
    ],
)
def test_what_it_refuses(data: bytes, message: str):
    with pytest.raises(FormatError) as error:
        read_container(data)
    assert message in str(error.value)


def test_a_header_without_the_last_field():
    assert read_container(patched(12, "<I", 24)).segments[0] == b"abc"


def test_mapped_files(tmp_path: Path):
    path = tmp_path / "a.pte"
    path.write_bytes(written([Segment.of(b"abc")]))
    assert bytes(read_container(map_file(path)).segments[0]) == b"abc"
    path.write_bytes(b"")
    assert bytes(map_file(path)) == b""


def test_a_message_is_one_line_whatever_the_file_calls_things():
    error = FormatError('there is no named data "a\nb\x1b[2J\ud800"', offset=3, path="Program\r.values[0]")
    assert str(error) == (r'there is no named data "a\nb\x1b[2J\ud800" at byte 3 in Program\r.values[0]')
