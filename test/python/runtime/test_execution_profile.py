"""Profiles: what they say of the time, and of where in the model it went."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reference.modules import Function
from reference.sources import line_of

import xir
from xir.dialects.xnnpack import NodeOp
from xir.emitter import emit, read
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.models import load_model
from xir.runtime import Method, Origin, ProfileEvent, Runtime, XirRuntimeError
from xir.transforms.registry import passes_of

RUNNER = Path(sys.prefix) / "bin" / "xnn_executor_runner"
HERE = os.path.relpath(__file__)


def lowered(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...], **options: Any) -> xir.ExecutorchProgram:
    edge = xir.to_edge(torch.export.export(model.eval(), inputs))
    return edge.to_backend(xir.XnnpackPartitioner(**options)).to_executorch()


def method_of(file: bytes) -> Method:
    return Runtime.get().load_program(file, threads=1).load_method()


def operators(events: list[ProfileEvent]) -> list[ProfileEvent]:
    return [event for event in events if event.kind == "operator"]


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return torch.tanh(y)


class Mixed(torch.nn.Module):
    """A delegate, and an operator that stays outside."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(self.block(x), dim=1)


IMAGE = torch.randn(1, 3, 8, 8)


@pytest.fixture(scope="module")
def mixed() -> bytes:
    return lowered(Mixed(), (IMAGE,)).buffer


def test_it_is_switched_on_for_one_execution(mixed: bytes):
    method = method_of(mixed)
    with pytest.raises(XirRuntimeError, match="no execution was profiled"):
        method.profile()
    method.execute([IMAGE], profile=True)
    first = method.profile()
    plain = method.execute([IMAGE])
    assert method.profile() is first
    torch.testing.assert_close(method.execute([IMAGE], profile=True), plain, rtol=0, atol=0)
    assert method.profile() is not first


def test_events_say_what_ran_where(mixed: bytes):
    method = method_of(mixed)
    method.execute([IMAGE], profile=True)
    events = method.profile().events
    by_name = {event.name.split(" (")[0]: event for event in events}
    conv, tanh, cumsum = by_name["Convolution"], by_name["TanH"], by_name["aten::cumsum.out"]
    assert conv.origins == (Origin(HERE, line_of(HERE, "y = self.conv(x)"), "block.conv", "aten::conv2d", "conv2d"),)
    assert tanh.origins == (Origin(HERE, line_of(HERE, "return torch.tanh(y)"), "block", "aten::tanh", "tanh"),)
    line = line_of(HERE, "return torch.cumsum(self.block(x), dim=1)")
    assert cumsum.origins == (Origin(HERE, line, "", "aten::cumsum", "cumsum"),)
    assert (conv.kind, conv.delegate, conv.microkernel) == ("operator", 0, "IGEMM")
    assert (cumsum.kind, cumsum.delegate, cumsum.node) == ("kernel", None, None)
    assert cumsum.result_bytes == tanh.result_bytes == 4 * 6 * 6 * 4
    assert conv.constant_bytes == (4 * 3 * 3 * 3 + 4) * 4


def test_times_nest(mixed: bytes):
    method = method_of(mixed)
    method.execute([IMAGE], profile=True)
    (whole,) = method.profile().durations
    calls = [event for event in method.profile().events if event.kind != "operator"]
    for before, after in itertools.pairwise(calls):
        assert before.start + before.duration <= after.start
    assert calls[0].start >= 0
    assert calls[-1].start + calls[-1].duration <= whole
    for call in calls:
        inner = [event for event in operators(method.profile().events) if event.instruction == call.instruction]
        assert sum(event.duration for event in inner) <= call.duration
        assert all(call.start <= event.start <= call.start + call.duration for event in inner)


@pytest.mark.parametrize("name", ["mv2", pytest.param("vit", marks=pytest.mark.exhaustive)])
def test_each_line_names_a_source_line_and_the_sum_is_the_time(name: str):
    model, inputs = load_model(name)
    file = lowered(model, inputs).buffer
    method = method_of(file)
    nodes = [op for op in read(file, XirContext()).walk() if isinstance(op, NodeOp)]
    best = 0.0
    for _ in range(5):
        method.execute(list(inputs), profile=True)
        events = method.profile().events
        lines = sum(event.duration for event in events if event.kind != "operator")
        assert sum(event.duration for event in operators(events)) <= lines
        best = max(best, lines / method.profile().durations[0])
    assert 0.95 <= best <= 1
    assert len(operators(method.profile().events)) == len(nodes), "XNNPACK makes one operator of each node here"
    assert [event.node for event in operators(method.profile().events)] == list(range(len(nodes)))
    for event in method.profile().events:
        if event.kind == "delegate":
            continue
        assert event.origins, event
        assert all(o.file.startswith("torchvision/models/") and o.line > 0 and o.op for o in event.origins), event
    modules = dict(model.named_modules())
    assert all(o.module in modules for event in operators(method.profile().events) for o in event.origins)
    table = method.profile().table(width=160)
    assert "unknown" not in table


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "abs": torch.abs,
    "ceil": torch.ceil,
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "cos": torch.cos,
    "elu": torch.nn.functional.elu,
    "exp": torch.exp,
    "floor": torch.floor,
    "gelu": torch.nn.functional.gelu,
    "gelu tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "hardswish": torch.nn.functional.hardswish,
    "leaky_relu": torch.nn.functional.leaky_relu,
    "log": torch.log,
    "neg": torch.neg,
    "round": torch.round,
    "rsqrt": torch.rsqrt,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "sin": torch.sin,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "tanh": torch.tanh,
    "mul": lambda x: x * x,
    "add relu": lambda x: torch.relu(x + 1.5),
    "sub": lambda x: x - 2.5,
    "div": lambda x: x / (x + 3),
    "maximum": lambda x: torch.maximum(x, x * 2),
    "minimum": lambda x: torch.minimum(x, torch.tensor(0.25)),
    "pow": lambda x: torch.pow(x, 3.5),
    "atan2": lambda x: torch.atan2(x, x + 1),
    "softmax": lambda x: torch.softmax(x, -1),
    "transpose": lambda x: x.transpose(2, 3) + 1,
    "reshape": lambda x: torch.sigmoid(x).reshape(4, -1) * 2,
    "slice": lambda x: torch.sigmoid(x)[:, :, 1:3],
    "pad": lambda x: torch.nn.functional.pad(torch.sigmoid(x), (1, 2), value=0.5),
    "cat": lambda x: torch.cat([x, torch.sigmoid(x), x * 3], 1),
    "cat 5": lambda x: torch.cat([x, torch.sigmoid(x), x * 3, x + 1, x - 4], 1),
    "mean": lambda x: torch.sigmoid(x).mean((2, 3)),
    "sum": lambda x: torch.sigmoid(x).sum(1),
    "sum of squares": lambda x: (x * x).sum(1),
    "amax": lambda x: torch.sigmoid(x).amax(3),
    "amin": lambda x: torch.sigmoid(x).amin(3),
    "max_pool2d": lambda x: torch.nn.functional.max_pool2d(x, 2),
    "avg_pool2d": lambda x: torch.nn.functional.avg_pool2d(x, 2),
    "matmul": lambda x: x @ torch.sigmoid(x).transpose(2, 3),
    "interpolate": lambda x: torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"),
}


@pytest.mark.parametrize("name", UNARY)
def test_each_operator_of_xnnpack_finds_its_node(name: str):
    x = torch.rand(1, 4, 6, 6) + 0.5
    file = lowered(Function(UNARY[name]), (x,), target="xir").buffer
    method = method_of(file)
    method.execute([x], profile=True)
    found = operators(method.profile().events)
    assert found
    nodes = [op for op in read(file, XirContext()).walk() if isinstance(op, NodeOp)]
    assert all(event.node is not None and event.origins for event in found), (found, [op.name for op in nodes])
    places = [event.node for event in found if event.node is not None]
    assert places == sorted(places)
    assert len(places) == len(set(places)) or name == "add relu", "a node's clamp is an operator of its own"


def chain(text: str) -> tuple[list[ProfileEvent], list[str]]:
    """The operators of a subgraph from 1x4x4x4 to the type of %r, and the names of its nodes.

    Nothing fuses: XNNPACK sees the nodes as they are written. Origins are lines of `text`.
    """
    type = "tensor<1x4x4x4xf32>"
    body = "\n".join(f"    {line.strip()}" for line in text.strip().splitlines())
    ctx = XirContext()
    module = parse_module(
        ctx,
        f"""func.func @forward(%x: {type}) -> {type} {{
  %y = xnnpack.subgraph(%x) : ({type}) -> {type} {{
  ^bb0(%a: {type}):
{body}
    xnnpack.yield %r : {type}
  }}
  func.return %y : {type}
}}""",
        "graph.mlir",
    )
    PassManager(ctx, list(passes_of("emit")), verify_each=True).run(module)
    stream = io.BytesIO()
    emit(module, ctx, stream, debug_info=True)
    method = method_of(stream.getvalue())
    method.execute([np.ones((1, 4, 4, 4), np.float32)], profile=True)
    names = [op.name for op in read(stream.getvalue(), XirContext()).walk() if isinstance(op, NodeOp)]
    return operators(method.profile().events), names


T = "tensor<1x4x4x4xf32>"
CONV = (
    "%w{0} = xnnpack.constant dense<1.0> : tensor<4x1x1x4xf32>\n"
    f"%c{{0}} = xnnpack.conv2d %{{1}}, %w{{0}} : ({T}, tensor<4x1x1x4xf32>) -> {T}"
)


def clamp(result: str, operand: str) -> str:
    return f"%{result} = xnnpack.clamp %{operand} {{output_min = 0.0 : f32}} : {T} -> {T}"


def test_a_clamp_that_xnnpack_fuses_moves_nothing_else():
    """The convolutions keep their nodes where the clamp between them is no operator."""
    text = [CONV.format(1, "a"), clamp("d", "c1"), CONV.format(2, "d"), f"%r = xnnpack.unary tanh %c2 : {T} -> {T}"]
    found, names = chain("\n".join(text))
    assert names == ["xnnpack.conv2d", "xnnpack.clamp", "xnnpack.conv2d", "xnnpack.unary"] or len(names) == 4
    assert [event.node for event in found] == [0, 2, 3]
    # Line 4 is the first of the text; each convolution takes two.
    assert [event.origins[0].line for event in found] == [5, 8, 9]


def test_what_cannot_be_told_is_unknown():
    """XNNPACK makes one clamp of two in a row: either may be meant."""
    text = [
        f"%t = xnnpack.unary tanh %a : {T} -> {T}",
        clamp("u", "t"),
        clamp("v", "u"),
        f"%r = xnnpack.unary tanh %v : {T} -> {T}",
    ]
    found, _ = chain("\n".join(text))
    assert [(event.name.split(" ")[0], event.node) for event in found] == [("TanH", 0), ("Clamp", None), ("TanH", 3)]
    assert found[1].origins == ()


def test_files_without_debug_information(mixed: bytes):
    program = dataclasses.replace(lowered(Mixed(), (IMAGE,)), debug_info=False)
    method = method_of(program.buffer)
    method.execute([IMAGE], profile=True)
    events = method.profile().events
    assert all(event.origins == () for event in events)
    assert [event.node for event in operators(events)] == list(range(len(operators(events))))
    assert "\nunknown: the file has no debug information: " in method.profile().table()


def test_damaged_debug_information_is_unknown(mixed: bytes):
    start = mixed.index(b"XD01") - 4
    for at in range(start, start + 400, 3):
        data = bytearray(mixed)
        data[at] ^= 0xA5
        method = method_of(bytes(data))
        method.execute([IMAGE], profile=True)
        profile = method.profile()
        assert profile.table()
        json.loads(profile.to_trace())
        assert profile.to_etdump()
        assert len(profile.events) >= 3


def test_errors_of_kernels_name_the_source_line():
    class Gather(torch.nn.Module):
        def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
            return torch.gather(x, 0, index)  # the line of the error

    inputs = (torch.randn(4), torch.tensor([0, 1]))
    method = method_of(xir.to_edge(torch.export.export(Gather().eval(), inputs)).to_executorch().buffer)
    place = f"instruction 0 ('aten::gather.out') at {HERE}:{line_of(HERE, '# the line of the error')}: "
    with pytest.raises(XirRuntimeError, match=re.escape(place)):
        method.execute([inputs[0], torch.tensor([0, 9])])


def test_the_table_adds_up_and_keeps_its_width(mixed: bytes):
    method = method_of(mixed)
    method.execute([IMAGE], profile=True)
    profile = method.profile()
    method.execute([IMAGE], profile=True)
    profile = profile + method.profile()
    for width in (80, 100, 200):
        lines, kinds, modules = profile.table(width=width).split("\n\n")[1:]
        assert all(len(line) <= width for line in lines.splitlines())
        rows = [line.split() for line in lines.splitlines()[1:]]
        times = [float(row[0]) for row in rows]
        assert times == sorted(times, reverse=True)
        for part in (kinds, modules):
            total = sum(float(line.split()[0]) for line in part.splitlines()[1:])
            assert total == pytest.approx(sum(times), abs=0.1 * len(times))
    assert profile.table().startswith("forward: 2 executions, on average ")
    ran = [line.split("  ")[-1] for line in profile.table(order="ran", width=200).split("\n\n")[1].splitlines()[1:]]
    assert "cumsum" in profile.table(order="ran", width=200).split("\n\n")[1].splitlines()[-1], ran


def test_the_trace_is_chromes(mixed: bytes, tmp_path: Path):
    method = method_of(mixed)
    method.execute([IMAGE], profile=True)
    profile = method.profile() + method.profile()
    text = profile.to_trace(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text() == text
    metadata, *events = json.loads(text)["traceEvents"]
    assert (metadata["ph"], metadata["name"]) == ("M", "process_name")
    assert [event["cat"] for event in events].count("execution") == 2
    stack: list[dict[str, Any]] = []
    for event in events:
        assert event["ph"] == "X"
        assert {"name", "ts", "dur", "pid", "tid", "args"} <= event.keys()
        # Events of one thread nest.
        while stack and event["ts"] >= round(stack[-1]["ts"] + stack[-1]["dur"], 3):
            stack.pop()
        if stack:
            assert event["ts"] + event["dur"] <= stack[-1]["ts"] + stack[-1]["dur"] + 0.002
        stack.append(event)
    conv = next(event for event in events if event["name"].startswith("Convolution"))
    assert conv["args"]["source"] == f"{HERE}:{line_of(HERE, 'y = self.conv(x)')}"
    assert (conv["args"]["module"], conv["args"]["op"]) == ("block.conv", "conv2d")


@pytest.mark.filterwarnings("ignore")
def test_executorchs_inspector_reads_the_etdump(mixed: bytes, tmp_path: Path):
    from executorch.devtools import Inspector

    method = method_of(mixed)
    method.execute([IMAGE], profile=True)
    profile = method.profile() + method.profile()
    profile.to_etdump(tmp_path / "run.etdp")
    inspector: Any = Inspector(etdump_path=str(tmp_path / "run.etdp"))
    (block,) = inspector.event_blocks
    events = {event.name: event for event in block.events}
    (whole,) = {round(duration / 1000, 3) for duration in profile.durations}
    assert events["Method::execute"].perf_data.raw == pytest.approx([whole] * 2, abs=1e-3)
    ours: dict[str, ProfileEvent] = {}
    for event in operators(profile.events):
        name = f"{event.name} {event.microkernel}".strip()
        count = sum(known.startswith(name + " #") for known in ours)
        ours[f"{name} #{count + 1}"] = event
    assert ours.keys() == {name for name, event in events.items() if event.is_delegated_op}
    for name, event in ours.items():
        assert events[name].perf_data.raw == pytest.approx([event.duration / 1000] * 2, abs=1e-6)
    assert events["aten::cumsum.out"].is_delegated_op is False
    conv = next(event for name, event in events.items() if name.startswith("Convolution"))
    place = f"{HERE}:{line_of(HERE, 'y = self.conv(x)')} in block.conv: conv2d"
    assert conv.delegate_debug_metadatas[0].decode() == place


def test_the_runner_prints_and_writes(mixed: bytes, tmp_path: Path):
    (tmp_path / "m.pte").write_bytes(mixed)
    options = shlex.split("--profile --profile-trace t.json --etdump_path r.etdp --iterations 3 --threads 1")
    env = {**os.environ, "COLUMNS": "160"}
    command = [RUNNER, "--model_path", "m.pte", *options]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=env)
    assert "forward: 3 executions, on average " in run.stdout
    assert re.search(
        r"Convolution \(NHWC, F32\) IGEMM +block\.conv +conv2d +test_execution_profile\.py:\d+\n", run.stdout
    )
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert (tmp_path / "r.etdp").read_bytes()[8:12] == b"ED00"
