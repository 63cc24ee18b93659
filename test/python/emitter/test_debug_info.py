"""What a file tells of where its parts come from: written from locations, read by nobody who does not want it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from emitter.sample_modules import file_of, text_of
from reference.runtimes import load_stock
from reference.sources import line_of
from runtime.test_execution_profile import HERE, IMAGE, Mixed
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp

import xir
from xir.dialects.pte import DEBUG_INFO_KEY, InstructionOp
from xir.dialects.xnnpack import NodeOp
from xir.emitter import read
from xir.emitter.codec import Tree, decode
from xir.emitter.container import read_container
from xir.emitter.debug_info import NO_HANDLE, DebugInfoWriter, shown_path
from xir.emitter.fbs import load_schema
from xir.ir.context import XirContext
from xir.ir.location import (
    SourceOrigin,
    call_location,
    file_location,
    fused_location,
    name_location,
    origins_of,
)

TANH = SourceOrigin(HERE, line_of(HERE, "return torch.tanh(y)"), "block", "aten::tanh", "tanh")
CONV = SourceOrigin(HERE, line_of(HERE, "y = self.conv(x)"), "block.conv", "aten::conv2d", "conv2d")
CUMSUM = SourceOrigin(HERE, line_of(HERE, "return torch.cumsum(self.block(x), dim=1)"), "", "aten::cumsum", "cumsum")


@pytest.fixture(scope="module")
def program() -> xir.ExecutorchProgram:
    exported = torch.export.export(Mixed().eval(), (IMAGE,))
    return xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()


def tables(data: bytes) -> tuple[Tree, Tree | None]:
    """The program's tree and the debug information's, if there is any."""
    container = read_container(data)
    for entry in container.program.get("named_data", ()):
        if entry["key"] == DEBUG_INFO_KEY:
            return container.program, decode(load_schema("debug"), container.segments[entry["segment_index"]])
    return container.program, None


def origins(info: Tree, handle: int) -> list[SourceOrigin]:
    strings = info["strings"]
    found = (info["origins"][index] for index in info["handles"][handle]["items"])
    return [
        SourceOrigin(strings[o["file"]], o["line"], *(strings[o[k]] for k in ("module", "op", "name"))) for o in found
    ]


def nodes(module: ModuleOp) -> list[NodeOp]:
    return [op for op in module.walk() if isinstance(op, NodeOp)]


def stock(file: bytes, x: torch.Tensor) -> torch.Tensor:
    # The program keeps alive neither its bytes nor the memory of its output.
    program = load_stock(file)
    return program.forward([x])[0].clone()


def test_imported_ops_say_line_module_operator_and_node():
    exported = torch.export.export(Mixed().eval(), (IMAGE,))
    ops = {op.name: op for op in xir.to_edge(exported).module.walk()}
    file = os.path.abspath(HERE)
    place = name_location("tanh", call_location(file_location(file, TANH.line), "aten::tanh", "block"))
    assert ops["edge.tanh"].location == place
    assert origins_of(ops["edge.cumsum"].location) == (dataclasses.replace(CUMSUM, file=file),)


def test_nodes_and_kernel_calls_have_their_origins(program: xir.ExecutorchProgram):
    tree, info = tables(program.buffer)
    assert info is not None
    given = [op.debug_handle for op in nodes(read(program.buffer, XirContext()))]
    handles = [handle.value.data for handle in given if handle is not None]
    assert len(handles) == len(given)
    found = [origins(info, handle) for handle in handles]
    assert [CONV] in found
    assert [TANH] in found
    (plan,) = info["plans"]
    (chain,) = tree["execution_plan"][0]["chains"]
    members = [entry["instr_args"].member for entry in chain["instructions"]]
    at = members.index("KernelCall")
    assert origins(info, plan["instructions"][at]) == [CUMSUM]
    assert [len(frames["items"]) for frames in chain["stacktrace"]] == [int(m == "KernelCall") for m in members]
    (frame,) = chain["stacktrace"][at]["items"]
    assert (frame["filename"], frame["lineno"], frame["context"]) == (HERE, CUMSUM.line, "aten::cumsum")


def test_a_fused_node_has_all_its_lines():
    writer = DebugInfoWriter()
    first, second = (
        name_location(name, call_location(file_location("m.py", line), f"aten::{name}", "block"))
        for name, line in (("conv2d", 3), ("relu", 4))
    )
    handle = writer.handle(fused_location(first, name_location("weight"), second))
    assert writer.handle(UNKNOWN_LOC) == NO_HANDLE
    assert writer.handle(fused_location(first, second)) == handle, "the weight's name adds nothing"
    info = decode(load_schema("debug"), writer.encode())
    assert origins(info, handle) == [
        SourceOrigin("m.py", 3, "block", "aten::conv2d", "conv2d"),
        SourceOrigin("m.py", 4, "block", "aten::relu", "relu"),
    ]


def test_equal_places_share_a_handle_and_the_mark_of_none_is_never_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("xir.emitter.debug_info.NO_HANDLE", 20)
    writer = DebugInfoWriter()
    handles = [writer.handle(file_location("m.py", line)) for line in range(1, 23)]
    assert 20 not in handles
    assert len(set(handles)) == len(handles)
    info = decode(load_schema("debug"), writer.encode())
    assert info["handles"][20].get("items", []) == []
    assert origins(info, handles[-1]) == [SourceOrigin("m.py", 22)]
    assert writer.handle(file_location("m.py", 1)) == handles[0]


def test_a_file_without_debug_information_has_nothing_of_it_and_computes_the_same(program: xir.ExecutorchProgram):
    x, data = torch.randn(1, 3, 8, 8), dataclasses.replace(program, debug_info=False).buffer
    assert tables(data)[1] is None
    assert os.path.basename(HERE).encode() not in data
    assert all(op.debug_handle is None for op in nodes(read(data, XirContext())))
    assert "stacktrace" not in tables(data)[0]["execution_plan"][0]["chains"][0]
    torch.testing.assert_close(stock(program.buffer, x), stock(data, x), rtol=0, atol=0)


def test_it_stays_when_a_file_is_read_and_written_again(program: xir.ExecutorchProgram):
    data = program.buffer
    assert any(op.frames for op in read(data, XirContext()).walk() if isinstance(op, InstructionOp))
    for debug_info in (False, True):
        again = file_of(text_of(data), debug_info=debug_info)
        assert again == data, "locations of the text are no places in the model"


def test_paths_do_not_tell_where_a_file_was_built(monkeypatch: pytest.MonkeyPatch):
    assert shown_path("/x/lib/python3.11/site-packages/torchvision/models/resnet.py") == "torchvision/models/resnet.py"
    shown_path.cache_clear()
    monkeypatch.chdir(Path(__file__).parent)
    assert shown_path(__file__) == Path(__file__).name
    shown_path.cache_clear()
    assert shown_path("/elsewhere/model.py") == "/elsewhere/model.py"


def test_names_of_files_may_be_no_unicode():
    writer = DebugInfoWriter()
    writer.handle(file_location("caf\udce9.py", 3))
    assert decode(load_schema("debug"), writer.encode())["strings"][1] == "caf?.py"


def test_it_costs_little():
    """Some tens of bytes a node."""
    layers = [layer for _ in range(50) for layer in (torch.nn.Linear(4, 4), torch.nn.ReLU())]
    exported = torch.export.export(torch.nn.Sequential(*layers).eval(), (torch.randn(1, 4),))
    program = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()
    extra = len(program.buffer) - len(dataclasses.replace(program, debug_info=False).buffer)
    assert 0 < extra < 50 * 400


def test_damaged_information_is_an_error_for_the_codec_alone(program: xir.ExecutorchProgram):
    """A reader of the program takes it for bytes."""
    data = bytearray(program.buffer)
    place = data.index(b"XD01") - 4
    data[place : place + 4] = np.uint32(0xFFFFFFF0).tobytes()
    assert nodes(read(bytes(data), XirContext()))
    x = torch.randn(1, 3, 8, 8)
    torch.testing.assert_close(stock(bytes(data), x), stock(program.buffer, x))
