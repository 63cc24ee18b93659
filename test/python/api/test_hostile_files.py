"""Damaged `.pte` files as input of `xir-aot`: one diagnostic and nothing written, or a file that is as good."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest
import torch
from reference.tools import Tool
from torch import nn

import xir
from xir.emitter.codec import Tree, decode, encode
from xir.emitter.container import Segment, read_container, write_container
from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema
from xir.runtime import Runtime, XirRuntimeError
from xir.tools.xir_translate import main as translate

DATA = Path(__file__).parents[3] / "backend_cpp/tests/data"
EACH = 20
"""Mutants of a file."""

MOST_SECONDS = 8.0
"""Of processor time for one of them: sizes in a file may ask for much, and get a part of it."""


def cut(data: bytearray, random: Random) -> bytearray:
    return data[: random.randrange(len(data))]


def with_extreme(data: bytearray, random: Random) -> bytearray:
    """A field of four bytes becomes an extreme of its type."""
    at = 4 * random.randrange(len(data) // 4)
    data[at : at + 4] = random.choice([b"\xff\xff\xff\x7f", b"\xff" * 4, bytes(4), b"\0\0\0\x10", b"\x01\0\0\0"])
    return data


def with_other_bytes(data: bytearray, random: Random) -> bytearray:
    for _ in range(random.randrange(1, 8)):
        data[random.randrange(len(data))] = random.randrange(256)
    return data


def with_other_bit(data: bytearray, random: Random) -> bytearray:
    """Among the first bytes, where tables are rather than weights."""
    data[random.randrange(min(len(data), 6000))] ^= 1 << random.randrange(8)
    return data


def with_copied_part(data: bytearray, random: Random) -> bytearray:
    source, target, size = random.randrange(len(data)), random.randrange(len(data)), random.randrange(1, 64)
    part = data[source : source + size]
    data[target : target + len(part)] = part
    return data


def with_other_number(data: bytearray, random: Random) -> bytearray:
    """A number, such as an offset, becomes a near or a far one."""
    at = random.randrange(len(data) - 4)
    number = int.from_bytes(data[at : at + 4], "little") + random.choice([1, -1, 4, 1000, 1 << 20])
    data[at : at + 4] = (number % (1 << 32)).to_bytes(4, "little")
    return data


KINDS = (cut, with_extreme, with_other_bytes, with_other_bit, with_copied_part, with_other_number)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["stock_small", "stock_q8"])
def test_a_damaged_file_is_one_diagnostic(name: str, aot: Tool) -> None:
    whole = (DATA / f"{name}.pte").read_bytes()
    random, old, new = Random(len(whole)), Path("old.pte"), Path("new.pte")
    refused = 0
    for number in range(EACH):
        old.write_bytes(KINDS[number % len(KINDS)](bytearray(whole), random))
        began = time.process_time()
        code = aot.main([str(old), "-o", str(new), "--no-stock"])
        spent = time.process_time() - began
        out, err = aot.capture.readouterr()
        assert spent < MOST_SECONDS, (number, spent)
        assert code in (0, 1), (number, code, err)
        assert sorted(Path().iterdir()) == ([new, old] if code == 0 else [old]), number
        if code == 1:
            refused += 1
            assert out == "", number
            assert err.count("\n") == 1, err
            assert ": error: " in err, err
        new.unlink(missing_ok=True)
    assert 0 < refused < EACH


LONG = 100_000
"""Characters of a name."""


def with_long_name(program: Tree, what: str) -> None:
    name = "x" * LONG
    plan = program["execution_plan"][0]
    match what:
        case "method":
            plan["name"] = name
        case "kernel":
            plan["operators"][0]["name"] = f"aten::{name}"
        case "overload":
            plan["operators"][0]["overload"] = name
        case "backend":
            plan["delegates"][0]["id"] = name
        case _:
            plan["delegates"][0]["compile_specs"] = [{"key": name, "value": b"x"}]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("what", ["method", "kernel", "overload", "backend", "option"])
def test_long_names_do_not_fill_a_terminal(what: str, aot: Tool) -> None:
    """In the messages of the tool, of the reader, of the runtime, and of a lock."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    edge = xir.to_edge(torch.export.export(Ordered(model), (torch.randn(2, 4),)))
    edge.to_backend(xir.XnnpackPartitioner()).to_executorch().save("whole.pte")
    file = read_container(Path("whole.pte").read_bytes())
    with_long_name(file.program, what)
    with open("long.pte", "wb") as stream:
        write_container(stream, file.program, [Segment.of(bytes(each), 16) for each in file.segments])
    aot("whole.pte -o new.pte --no-stock --lock the.lock")
    for command in ("", "--lock the.lock"):
        aot.main(["long.pte", "-o", "new.pte", "--no-stock", *command.split()])
        out, err = aot.capture.readouterr()
        assert out + err
        assert max(map(len, (out + err).splitlines())) < 2000
    with pytest.raises(XirRuntimeError) as error:
        Runtime.get().load_program("long.pte").load_method("none")
    assert len(str(error.value)) < 2000


class Ordered(nn.Module):
    """With a kernel outside."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(self.model(x), 1)


HUGE = (2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 128, 2**64 - 1)
"""Where sizes and offsets overflow."""


def with_other_fields(data: bytearray, random: Random) -> bytearray:
    """A file of weights that is whole, with an entry, segment or layout that is another one."""
    magic_end, header = 8, 40
    size, base = (int.from_bytes(data[at : at + 8], "little") for at in (24, 32))
    tree = decode(load_schema("data"), memoryview(bytes(data))[: magic_end + header + size])
    named, segments = list(tree["named_data"]), list(tree["segments"])
    entry, segment = random.choice(named), random.choice(segments)
    match random.randrange(9):
        case 0:
            segment["offset"] = random.choice(HUGE)
        case 1:
            segment["size"] = random.choice(HUGE)
        case 2:
            entry["key"] = random.choice(["", "\n\x1b[31m", "\u202e\x9b", "x" * LONG])
        case 3:
            named.remove(entry)
        case 4:
            entry["segment_index"] = random.choice([len(segments), 2**32 - 1])
        case 5:
            sizes = random.choice([[2**31 - 1] * 40, [-1], [0], [], [3, 5]])
            entry["tensor_layout"] = {
                "scalar_type": random.choice([-1, 6, 11, 127]),
                "sizes": sizes,
                "dim_order": bytes(random.choice([range(len(sizes)), [255], []])),
            }
        case 6:
            named *= 500
        case 7:
            named += [{"key": f"key {number}", "segment_index": 0} for number in range(20_000)]
        case _:
            other = random.choice(segments)
            other["offset"], segment["offset"] = segment["offset"], other["offset"] + random.choice([0, 1, 4])
    flatbuffer = encode(load_schema("data"), {**tree, "named_data": named, "segments": segments})
    root = int.from_bytes(flatbuffer[:4], "little") + header
    end = len(flatbuffer) + header
    begin = -(-end // 128) * 128
    numbers = (magic_end + header, end - magic_end - header, begin, len(data) - base)
    head = root.to_bytes(4, "little") + flatbuffer[4:8] + b"FH01" + header.to_bytes(4, "little")
    head += b"".join(number.to_bytes(8, "little") for number in numbers)
    return bytearray(head + flatbuffer[8:] + bytes(begin - end) + data[base:])


def with_huge_header(data: bytearray, random: Random) -> bytearray:
    at = random.choice([16, 24, 32, 40])
    data[at : at + 8] = random.choice([*HUGE, 0, len(data), len(data) + 1]).to_bytes(8, "little")
    return data


DATA_KINDS = (*KINDS, *[with_other_fields] * len(KINDS), with_huge_header, with_huge_header)
"""As often a field as bytes: a flatbuffer that is none is found at once."""


@pytest.mark.usefixtures("folder")
def test_damaged_weights_are_one_diagnostic(aot: Tool) -> None:
    """Beside a good program: of a delegate, and of a kernel."""
    model = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 8))
    edge = xir.to_edge(torch.export.export(Ordered(model), (torch.zeros(2, 3, dtype=torch.int64),)))
    edge.to_backend(xir.XnnpackPartitioner()).to_executorch().save("old.pte", weights_apart=True)
    whole, old = Path("old.ptd").read_bytes(), Path("old.ptd")
    aot("old.pte --data old.ptd -o new.pte --no-stock")
    random, new, there = Random(1), Path("new.pte"), {Path("old.pte"), old}
    refused = {"xir-aot": 0, "xir-translate": 0, "load": 0, "run": 0}
    for number in range(6 * len(DATA_KINDS)):
        new.unlink(missing_ok=True)
        old.write_bytes(DATA_KINDS[number % len(DATA_KINDS)](bytearray(whole), random))
        began = time.process_time()
        for how, code in (
            ("xir-aot", aot.main(["old.pte", "--data", "old.ptd", "-o", "new.pte", "--no-stock"])),
            ("xir-translate", translate(["--pte-to-mlir", "old.ptd", "-o", "new.mlir"])),
        ):
            assert code in (0, 1), (number, how)
            refused[how] += code
        out, err = aot.capture.readouterr()
        assert set(Path().iterdir()) - {new} == there, number
        assert err.count("\n") == 1 + (not new.exists()), (number, err)
        assert max(map(len, (out + err).splitlines())) < 2000, number
        assert all(": error: " in line and line.isprintable() for line in err.splitlines()), (number, err)
        said: list[str] = []
        try:
            xir.load("old.pte", data=["old.ptd"])
        except FormatError as error:
            refused["load"] += 1
            said.append(str(error))
        try:
            inputs = [torch.zeros(2, 3, dtype=torch.int64)]
            Runtime.get().load_program("old.pte", data=["old.ptd"]).load_method().execute(inputs)
        except XirRuntimeError as error:
            refused["run"] += 1
            said.append(str(error))
        assert all(text.isprintable() for text in said), (number, said)
        assert time.process_time() - began < MOST_SECONDS, number
    assert refused["xir-translate"] == 6 * len(DATA_KINDS), "a file of weights is no program"
    # Some fields change nothing, as of keys that nobody asks for.
    assert 6 * len(KINDS) < refused["load"] <= refused["xir-aot"] < refused["xir-translate"]
    assert 6 * len(KINDS) < refused["run"] < refused["xir-translate"]
