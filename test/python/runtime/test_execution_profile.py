"""Profiles: what they say of the time, and of where in the model it went."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from emitter.sample_modules import emitted
from interop.test_open_models import mobilenet
from reference.dozens import check_together, dozens
from reference.modules import Function
from reference.sources import line_of

import xir
from xir.dialects.xnnpack import NodeOp
from xir.emitter import read
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.runtime import Method, Origin, Profile, ProfileEvent, Runtime, XirRuntimeError
from xir.transforms.registry import passes_of

HERE = os.path.relpath(__file__)


def lowered(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...], **options: Any) -> xir.ExecutorchProgram:
    edge = xir.to_edge(torch.export.export(model.eval(), inputs))
    return edge.to_backend(xir.XnnpackPartitioner(**options)).to_executorch()


def method_of(file: bytes) -> Method:
    return Runtime.get().load_program(file, threads=1).load_method()


def profiled(file: bytes, *inputs: Any) -> Profile:
    method = method_of(file)
    method.execute(list(inputs), profile=True)
    return method.profile()


def nodes_of(file: bytes) -> list[NodeOp]:
    return [op for op in read(file, XirContext()).walk() if isinstance(op, NodeOp)]


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
    events = profiled(mixed, IMAGE).events
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
    profile = profiled(mixed, IMAGE)
    (whole,) = profile.durations
    calls = [event for event in profile.events if event.kind != "operator"]
    for before, after in itertools.pairwise(calls):
        assert before.start + before.duration <= after.start
    assert calls[0].start >= 0
    assert calls[-1].start + calls[-1].duration <= whole
    for call in calls:
        inner = [event for event in operators(profile.events) if event.instruction == call.instruction]
        assert sum(event.duration for event in inner) <= call.duration
        assert all(call.start <= event.start <= call.start + call.duration for event in inner)


def test_each_line_names_a_source_line_and_the_sum_is_the_time():
    model, inputs = mobilenet(), (torch.randn(1, 3, 224, 224),)
    file = lowered(model, inputs).buffer
    method = method_of(file)
    best = 0.0
    for _ in range(5):
        method.execute(list(inputs), profile=True)
        events = method.profile().events
        lines = sum(event.duration for event in events if event.kind != "operator")
        assert sum(event.duration for event in operators(events)) <= lines
        best = max(best, lines / method.profile().durations[0])
    assert 0.95 <= best <= 1
    events, modules = method.profile().events, dict(model.named_modules())
    numbers = list(range(len(nodes_of(file))))
    assert [event.node for event in operators(events)] == numbers, "XNNPACK makes one operator of each node here"
    for event in operators(events):
        assert event.origins, event
        assert all(o.file.startswith("torchvision/models/") and o.line > 0 and o.op for o in event.origins), event
        assert all(o.module in modules for o in event.origins), event
    assert "unknown" not in method.profile().table(width=160)


UNARY = "abs ceil cos exp floor log neg round rsqrt sigmoid sign sin sqrt square tanh"
FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{name: getattr(torch, name) for name in UNARY.split()},
    **{name: getattr(torch.nn.functional, name) for name in ("elu", "gelu", "hardswish", "leaky_relu")},
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "gelu tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
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


@pytest.mark.parametrize("names", dozens([*FUNCTIONS], str))
def test_each_operator_of_xnnpack_finds_its_node(names: list[str]):
    def check(names: Sequence[str]) -> None:
        x = torch.rand(1, 4, 6, 6) + 0.5
        model = Function(lambda x: [FUNCTIONS[name](x) for name in names])
        file = lowered(model, (x,), target="xir").buffer
        found = operators(profiled(file, x).events)
        assert all(event.node is not None and event.origins for event in found), (found, nodes_of(file))
        places = [event.node for event in found if event.node is not None]
        assert len(places) >= len(names)
        assert places == sorted(places)
        # A node's clamp is an operator of its own.
        assert len(places) - len(set(places)) <= names.count("add relu")

    check_together(check, names, str)


T = "tensor<1x4x4x4xf32>"


def chain(text: list[str]) -> tuple[list[ProfileEvent], list[str]]:
    """The operators of a subgraph from 1x4x4x4 to the type of %r, and the names of its nodes.

    Nothing fuses: XNNPACK sees the nodes as they are written. Origins are lines of `text`.
    """
    body = "\n".join(f"    {line.strip()}" for line in text)
    ctx = XirContext()
    module = parse_module(
        ctx,
        f"""func.func @forward(%x: {T}) -> {T} {{
  %y = xnnpack.subgraph(%x) : ({T}) -> {T} {{
  ^bb0(%a: {T}):
{body}
    xnnpack.yield %r : {T}
  }}
  func.return %y : {T}
}}""",
        "graph.mlir",
    )
    PassManager(ctx, list(passes_of("emit")), verify_each=True).run(module)
    file = emitted(module, ctx, debug_info=True)
    return operators(profiled(file, np.ones((1, 4, 4, 4), np.float32)).events), [op.name for op in nodes_of(file)]


def conv(number: int, operand: str) -> list[str]:
    return [
        f"%w{number} = xnnpack.constant dense<1.0> : tensor<4x1x1x4xf32>",
        f"%c{number} = xnnpack.conv2d %{operand}, %w{number} : ({T}, tensor<4x1x1x4xf32>) -> {T}",
    ]


def clamp(result: str, operand: str) -> str:
    return f"%{result} = xnnpack.clamp %{operand} {{output_min = 0.0 : f32}} : {T} -> {T}"


def test_a_clamp_that_xnnpack_fuses_moves_nothing_else():
    """The convolutions keep their nodes where the clamp between them is no operator."""
    text = [*conv(1, "a"), clamp("d", "c1"), *conv(2, "d"), f"%r = xnnpack.unary tanh %c2 : {T} -> {T}"]
    found, names = chain(text)
    assert names == ["xnnpack.conv2d", "xnnpack.clamp", "xnnpack.conv2d", "xnnpack.unary"]
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
    found, _ = chain(text)
    assert [(event.name.split(" ")[0], event.node) for event in found] == [("TanH", 0), ("Clamp", None), ("TanH", 3)]
    assert found[1].origins == ()


def test_files_without_debug_information(mixed: bytes):
    program = dataclasses.replace(lowered(Mixed(), (IMAGE,)), debug_info=False)
    profile = profiled(program.buffer, IMAGE)
    assert all(event.origins == () for event in profile.events)
    assert [event.node for event in operators(profile.events)] == list(range(len(operators(profile.events))))
    assert "\nunknown: the file has no debug information: " in profile.table()


def test_damaged_debug_information_is_unknown(mixed: bytes):
    start = mixed.index(b"XD01") - 4
    for at in range(start, start + 400, 3):
        data = bytearray(mixed)
        data[at] ^= 0xA5
        profile = profiled(bytes(data), IMAGE)
        assert profile.table()
        json.loads(profile.to_trace())
        assert profile.to_etdump()
        assert len(profile.events) >= 3


def test_errors_of_kernels_name_the_source_line():
    class Gather(torch.nn.Module):
        def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
            return torch.gather(x, 0, index)  # the line of the error

    inputs = (torch.randn(4), torch.tensor([0, 1]))
    method = method_of(xir.to_edge(torch.export.export(Gather(), inputs)).to_executorch().buffer)
    place = f"instruction 0 ('aten::gather.out') at {HERE}:{line_of(HERE, '# the line of the error')}: "
    with pytest.raises(XirRuntimeError, match=re.escape(place)):
        method.execute([inputs[0], torch.tensor([0, 9])])


def test_the_table_adds_up_and_keeps_its_width(mixed: bytes):
    profile = profiled(mixed, IMAGE) + profiled(mixed, IMAGE)
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
    place = r"Convolution \(NHWC, F32\) IGEMM +block\.conv +conv2d +test_execution_profile\.py:\d+\n"
    assert re.search(place, profile.table(width=160))
    ran = [line.split("  ")[-1] for line in profile.table(order="ran", width=200).split("\n\n")[1].splitlines()[1:]]
    assert "cumsum" in profile.table(order="ran", width=200).split("\n\n")[1].splitlines()[-1], ran


def test_the_trace_is_chromes(mixed: bytes, tmp_path: Path):
    profile = profiled(mixed, IMAGE)
    profile += profile
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

    profile = profiled(mixed, IMAGE)
    profile += profile
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
