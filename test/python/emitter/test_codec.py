"""The FlatBuffers codec: what it writes it reads, and no bytes make it do anything but answer or refuse."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from emitter.trees import trees, with_defaults
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xir.emitter.codec import MAX_DEPTH, Tagged, Tree, decode, encode
from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema, parse_schema

PROGRAM = load_schema("program")
XNNPACK = load_schema("xnnpack")
quick = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def check_round_trip(schema: Any, tree: Tree) -> None:
    data = encode(schema, tree)
    read = decode(schema, data)
    assert read == with_defaults(schema, schema.root, tree)
    assert encode(schema, read) == data


@quick
@given(trees(PROGRAM, "Program"))
def test_program_round_trip(tree: Tree):
    check_round_trip(PROGRAM, tree)


@quick
@given(trees(XNNPACK, "XNNGraph"))
def test_graph_round_trip(tree: Tree):
    check_round_trip(XNNPACK, tree)


SAMPLE = encode(
    PROGRAM,
    {
        "execution_plan": [
            {
                "name": "forward",
                "values": [
                    {"val": Tagged("Tensor", {"sizes": [1, 2], "dim_order": b"\0\1", "allocation_info": {}})},
                    {"val": Tagged("IntList", {"items": [0, 1]})},
                ],
                "chains": [{"instructions": [{"instr_args": Tagged("KernelCall", {"args": [0, 1]})}]}],
                "operators": [{"name": "aten::add", "overload": "out"}],
            }
        ],
        "backend_delegate_data": [{"data": b"abc"}],
        "constant_segment": {"offsets": [0]},
    },
)


def decode_or_refuse(schema: Any, data: bytes) -> Tree | None:
    """The tree, None after a FormatError; any other exception ends the test."""
    try:
        return decode(schema, data)
    except FormatError:
        return None


@settings(deadline=None, max_examples=500)
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes(changes: list[tuple[int, int]]):
    data = bytearray(SAMPLE)
    for position, value in changes:
        data[position] = value
    decode_or_refuse(PROGRAM, bytes(data))


def test_every_truncation():
    refused = sum(decode_or_refuse(PROGRAM, SAMPLE[:size]) is None for size in range(len(SAMPLE)))
    assert refused == len(SAMPLE)


def test_every_word_replaced():
    for position in range(0, len(SAMPLE) - 3, 4):
        for word in (0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(SAMPLE)):
            decode_or_refuse(PROGRAM, SAMPLE[:position] + struct.pack("<I", word) + SAMPLE[position + 4 :])


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200))
def test_random_bytes(data: bytes):
    decode_or_refuse(XNNPACK, data)
    decode_or_refuse(XNNPACK, data[:4] + b"XN01" + data[8:])


def test_a_bomb_is_refused():
    """Tables that all hold the same table many times describe more nodes than there are bytes."""
    schema = parse_schema("table T { children: [T]; leaf: int; } root_type T;")
    count, depth = 40, 20
    data = bytearray(struct.pack("<II", 8 + 6, 0) + struct.pack("<HHH", 6, 8, 4))
    for level in range(depth):
        table = len(data)
        data += struct.pack("<iI", table - 8, 4)
        following = table + 8 + 4 + 4 * count
        # The last level's vector is empty.
        data += struct.pack("<I", count if level < depth - 1 else 0)
        data += b"".join(struct.pack("<I", following - (table + 12 + 4 * i)) for i in range(count))
    with pytest.raises(FormatError, match="refers to itself more often than a sound file does"):
        decode(schema, bytes(data))


def test_a_cycle_is_refused():
    schema = parse_schema("table T { child: T; } root_type T;")
    # Offsets only go forward, but a table may overlap the vtable and the offset of the one before.
    data = struct.pack("<II", 14, 0) + struct.pack("<HHH", 6, 8, 4) + struct.pack("<iI", 6, 0)
    with pytest.raises(FormatError, match=r"an offset points outside the data at byte 18 in T\.child"):
        decode(schema, data)


def test_deep_nesting_is_refused():
    schema = parse_schema("table T { child: T; } root_type T;")
    tree: Tree = {}
    for _ in range(MAX_DEPTH + 1):
        tree = {"child": tree}
    with pytest.raises(FormatError, match=f"nested more than {MAX_DEPTH} deep"):
        decode(schema, encode(schema, tree))
    for _ in range(2000):
        tree = {"child": tree}
    with pytest.raises(FormatError, match="nested too deeply to be written"):
        encode(schema, tree)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"verison": 1}, "Program has no field named verison in Program"),
        ({"version": -1}, "a value does not fit its field: .* in Program.version"),
        ({"version": "1"}, "a value does not fit its field: .* in Program.version"),
        ({"named_data": [{"key": "\ud800"}]}, r"no character in Program.named_data\[0\].key"),
        ({"segments": [{"offset": 1 << 64}]}, r"does not fit its field: .* in Program.segments\[0\].offset"),
        (
            {"execution_plan": [{"values": [{"val": Tagged("Tensr", {})}]}]},
            r"KernelTypes has no member Tensr in Program.execution_plan\[0\].values\[0\].val",
        ),
    ],
)
def test_what_cannot_be_written(tree: Tree, message: str):
    with pytest.raises(FormatError, match=message):
        encode(PROGRAM, tree)


def test_another_identifier_is_refused():
    with pytest.raises(FormatError, match="the file identifier is b'ET12', expected 'XN01' at byte 104 in XNNGraph"):
        decode(XNNPACK, SAMPLE, base=100)


def test_presence_and_absence_differ():
    """An empty vector, string or table is not a missing one; a scalar's default is."""
    data = encode(XNNPACK, {"version": "", "xnodes": [], "num_externs": 0})
    assert decode(XNNPACK, data) == {"version": "", "xnodes": [], "num_externs": 0}
    assert decode(XNNPACK, encode(XNNPACK, {})) == {"num_externs": 0}


def test_negative_zero_is_no_default():
    numbers = (0.0, -0.0, 0.0)
    nodes = [{"xnode_union": Tagged("XNNStaticConstantPad", {"padding_value": number})} for number in numbers]
    read = decode(XNNPACK, encode(XNNPACK, {"xnodes": nodes}))["xnodes"]
    assert [str(each["xnode_union"][1]["padding_value"]) for each in read] == [str(number) for number in numbers]


@pytest.mark.parametrize("values", [[-1], [1.5], ["1"], [1 << 32]])
def test_elements_that_do_not_fit(values: list[Any]):
    with pytest.raises(FormatError, match=r"a value does not fit its field: .* in XNNGraph.input_ids"):
        encode(XNNPACK, {"input_ids": values})


def test_bytes_are_aligned_and_not_copied():
    data = encode(PROGRAM, {"backend_delegate_data": [{"data": b"x" * 40}, {"data": b"y" * 7}]})
    for entry in decode(PROGRAM, data)["backend_delegate_data"]:
        view: memoryview = entry["data"]
        assert view.obj is data
        assert data.index(bytes(view)) % 16 == 0
