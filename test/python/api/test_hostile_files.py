"""Damaged `.pte` files as input of `xir-aot`: one diagnostic and nothing written, or a file that is as good."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest
import torch
from reference.modules import Calling
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


def damaged(data: bytearray, random: Random, number: int) -> bytearray:
    """The end is cut off, some bytes are others, a bit is among the first ones, where tables are, a part is copied, or
    a number of four bytes, such as an offset, is near, far or an extreme one."""
    at = 4 * random.randrange(len(data) // 4)
    match number % 5:
        case 0:
            return data[:at]
        case 1:
            for _ in range(random.randrange(1, 8)):
                data[random.randrange(len(data))] = random.randrange(256)
        case 2:
            data[random.randrange(min(len(data), 6000))] ^= 1 << random.randrange(8)
        case 3:
            part = data[random.randrange(len(data)) :][: random.randrange(1, 64)]
            data[at : at + len(part)] = part
        case _:
            here = int.from_bytes(data[at : at + 4], "little")
            near = [here + step for step in (1, -1, 4, 1000, 1 << 20)]
            found = random.choice([*near, 2**31 - 1, 2**32 - 1, 0, 2**28, 1])
            data[at : at + 4] = (found % 2**32).to_bytes(4, "little")
    return data


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["stock_small", "stock_q8"])
def test_a_damaged_file_is_one_diagnostic(name: str, aot: Tool) -> None:
    whole = (DATA / f"{name}.pte").read_bytes()
    random, old, new = Random(len(whole)), Path("old.pte"), Path("new.pte")
    refused = 0
    for number in range(EACH):
        old.write_bytes(damaged(bytearray(whole), random, number))
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a kernel outside, beside one of its weights."""
    layers = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 8))
    model = Calling(lambda m, x: torch.cumsum(m.layers(x), 1), layers=layers)
    edge = xir.to_edge(torch.export.export(model, (torch.zeros(2, 3, dtype=torch.int64),)))
    path = tmp_path_factory.mktemp("whole") / "old.pte"
    edge.to_backend(xir.XnnpackPartitioner()).to_executorch().save(path, weights_apart=True)
    return path


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
def test_long_names_do_not_fill_a_terminal(what: str, whole: Path, aot: Tool) -> None:
    """In the messages of the tool, of the reader, of the runtime, and of a lock."""
    xir.load(whole, data=[whole.with_suffix(".ptd")]).save("whole.pte")
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


COUNT = 84


def damaged_weights(data: bytearray, random: Random, number: int) -> bytearray:
    """As often a field as bytes: a flatbuffer that is none is found at once."""
    match number % 7:
        case 0 | 1 | 2:
            return damaged(data, random, number // 7 * 3 + number % 7)
        case 3:
            return with_huge_header(data, random)
        case _:
            return with_other_fields(data, random)


def test_damaged_weights_are_one_diagnostic(whole: Path, folder: Path, aot: Tool) -> None:
    """Beside a good program: of a delegate, and of a kernel."""
    old, content = folder / "old.ptd", whole.with_suffix(".ptd").read_bytes()
    (folder / "old.pte").write_bytes(whole.read_bytes())
    old.write_bytes(content)
    aot("old.pte --data old.ptd -o new.pte --no-stock")
    random, new, there = Random(1), Path("new.pte"), {Path("old.pte"), Path("old.ptd")}
    refused = {"xir-aot": 0, "xir-translate": 0, "load": 0, "run": 0}
    for number in range(COUNT):
        new.unlink(missing_ok=True)
        old.write_bytes(damaged_weights(bytearray(content), random, number))
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
    assert refused["xir-translate"] == COUNT, "a file of weights is no program"
    # Some fields change nothing, as of keys that nobody asks for.
    assert COUNT / 2 < refused["load"] <= refused["xir-aot"] < COUNT
    assert COUNT / 2 < refused["run"] < COUNT
