"""What a page shows of a program: each op, what it reads, where it comes from, and what it took."""

from __future__ import annotations

import dataclasses
import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from explore import small_programs
from xdsl.dialects.builtin import ModuleOp

import xir
from xir.api import EdgeProgram, ExecutorchProgram
from xir.emitter import read
from xir.emitter.debug_locations import locate
from xir.explore import ProfileError, Recorder, document, read_profile
from xir.explore.difference import difference
from xir.explore.document import Stage, stage_of
from xir.explore.graph import is_structure
from xir.explore.snapshot import take
from xir.ir.context import XirContext
from xir.ir.diagnostics import op_name
from xir.ir.parser import parse_module
from xir.ir.printer import module_to_text
from xir.runtime import Runtime

Compiled = tuple[EdgeProgram, ExecutorchProgram]


@pytest.fixture(scope="module")
def recorded() -> Recorder:
    return Recorder()


@pytest.fixture(scope="module", autouse=True)
def compiled(recorded: Recorder) -> Compiled:
    """The model behind its passes, which are recorded, and its file."""
    edge, executorch = small_programs.compiled(recorded)
    recorded.remarks = [*edge.remarks, *executorch.remarks]
    return edge, executorch


@pytest.fixture(scope="module")
def file(compiled: Compiled, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explore") / "branches.pte"
    path.write_bytes(compiled[1].buffer)
    return path


@pytest.fixture(scope="module")
def trace(file: Path) -> Path:
    return small_programs.trace_of(file, list(small_programs.INPUTS))


def read_file(path: Path) -> ModuleOp:
    ctx = XirContext()
    module = read(path.read_bytes(), ctx)
    locate(module, ctx)
    return module


def labels(stage: Stage) -> list[str]:
    return [node.captions[0] for node in stage.nodes]


def flows(stage: Stage) -> set[tuple[str, str]]:
    """The labels at the ends of edges."""
    names = {node.entry: node.captions[0] for node in stage.nodes}
    return {(names[edge.source], names[edge.target]) for edge in stage.edges}


# Stages.


def test_stages_are_the_passes_that_changed_something(recorded: Recorder) -> None:
    names = [stage.name for stage in recorded.stages]
    assert names[0] == "input"
    assert {"partition-xnnpack", "fuse-conv-relu", "lower-to-pte", "plan-memory"} <= set(names)
    assert all(before.lines != after.lines for before, after in zip(recorded.stages, recorded.stages[1:], strict=False))
    idle = [name for stage in recorded.stages for name in stage.idle]
    assert "fold-qdq" in idle
    assert not set(idle) & {"partition-xnnpack", "plan-memory"}


def test_a_stage_stays_what_it_was(compiled: Compiled, recorded: Recorder) -> None:
    assert "sort" in " ".join(labels(recorded.stages[0]))
    assert not any("subgraph" in label for label in labels(recorded.stages[0]))
    after_delegation = next(stage for stage in recorded.stages if stage.name == "partition-xnnpack")
    assert "subgraph" in " ".join(labels(after_delegation))
    # The module goes on changing, and text and nodes do not.
    assert after_delegation.lines != module_to_text(compiled[0].module).rstrip().split("\n")


def test_the_difference_makes_one_text_of_the_other() -> None:
    for text, other in product(("a\nb\nc", "", "x"), ("a\nx\nc\nd", "", "x")):
        made, after = text.split("\n"), other.split("\n")
        for a, b, c, d in reversed(difference(list(made), after)):
            made[a:b] = after[c:d]
        assert made == after


PROGRAM = """
func.func @f(%x: t) -> t {
  %0 = edge.dead(%x) : t
  %1 = edge.abs(%x) : t
  %2 = edge.neg(%1) : t
  %3 = edge.add(%1, %2) : t
  func.return %3 : t
}
func.func @g(%x: t) -> t {
  %0 = edge.abs(%x) : t
  func.return %0 : t
}
""".strip().split("\n")


@pytest.mark.parametrize(
    ("without", "changes", "expected"),
    [
        # Without the first op all values have other numbers, and nothing else differs.
        ([1], {}, [[1, 2, 1, 1]]),
        # Another op stands for one: what reads it is as it was.
        ([], {2: "  %1 = edge.exp(%x) : t"}, [[2, 3, 2, 3]]),
        # A line that reads other values has changed, also where its text only differs by numbers.
        ([], {4: "  %3 = edge.add(%1, %1) : t"}, [[4, 5, 4, 5]]),
        ([], {3: "  %2 = edge.neg(%0) : t"}, [[3, 4, 3, 4]]),
        ([], {8: "  %0 = edge.abs(%y) : t"}, [[8, 9, 8, 9]]),
        ([], {}, []),
    ],
)
def test_numbers_of_values_make_no_difference(
    without: list[int], changes: dict[int, str], expected: list[list[int]]
) -> None:
    lines = [changes.get(number, line) for number, line in enumerate(PROGRAM) if number not in without]
    if without:
        lines = [re.sub(r"%([1-3])", lambda match: f"%{int(match[1]) - 1}", line) for line in lines]
    assert difference(PROGRAM, lines) == expected


# Ops.


def test_each_op_has_a_node_or_is_structure(compiled: Compiled) -> None:
    for module in (each.module for each in compiled):
        stage = stage_of(module, "")
        index = take(module).index
        drawn = {node.entry for node in stage.nodes}
        ops = list(module.walk())
        # The graph of a delegate is what its first call holds.
        missing = [op for op in ops if index[op] not in drawn and not is_structure(op)]
        assert missing == []
        assert [entry.name for entry in stage.entries if entry.name != "block argument"] == [op_name(op) for op in ops]
        assert len(drawn) == len(stage.nodes)


def test_lines_are_those_of_the_text(compiled: Compiled) -> None:
    stage = stage_of(compiled[0].module, "")
    assert stage.lines == module_to_text(compiled[0].module).rstrip("\n").split("\n")
    for entry in stage.entries:
        line = stage.lines[entry.first]
        if entry.name not in ("block argument", "builtin.module"):
            assert entry.name in line
            assert all(use.name in line for use in (*entry.results, *entry.operands)), entry.name


def test_boxes_hold_their_nodes_and_nothing_overlaps(recorded: Recorder) -> None:
    for stage in recorded.stages:
        boxes = [node for node in stage.nodes if node.is_box]
        assert boxes
        for first in stage.nodes:
            x, y, width, height = first.rectangle
            assert 0 <= x <= stage.size[0] - width
            assert 0 <= y <= stage.size[1] - height
            for second in stage.nodes:
                left, top, across, down = second.rectangle
                apart = x + width <= left or left + across <= x or y + height <= top or top + down <= y
                within = left <= x and top <= y and x + width <= left + across and y + height <= top + down
                around = x <= left and y <= top and left + across <= x + width and top + down <= y + height
                assert first is second or apart or (within and second.is_box) or (around and first.is_box)
        assert all(edge.path[0][1] < edge.path[-1][1] for edge in stage.edges)


def test_edges_are_those_of_the_values(recorded: Recorder) -> None:
    """In the first stage, where nothing holds anything but the function, they follow from the operands."""
    stage = recorded.stages[0]
    drawn = {node.entry for node in stage.nodes}
    expected = {
        (use.owner, number)
        for number, entry in enumerate(stage.entries)
        for use in entry.operands
        if use.owner in drawn and number in drawn
    }
    assert {(edge.source, edge.target) for edge in stage.edges} == expected


def test_a_file_shows_what_flows_through_it(file: Path) -> None:
    stage = stage_of(read_file(file), "")
    found = flows(stage)
    assert ("input", "delegate @forward_0") in found
    assert not found.isdisjoint({("delegate @forward_0", f"{name}.values") for name in ("sort", "topk")})
    assert any(target == "signature" for _, target in found)
    assert {"conv2d", "fully_connected", "sigmoid", "multiply", "add"} <= set(labels(stage))


def test_state_is_read_and_written() -> None:
    text = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = edge.mutable_buffer "sum" dense<0.0> : tensor<4xf32>
  %0 = edge.add.Tensor(%b, %x) {alpha = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  edge.update_buffer %b, %0 : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
    wanted = {("mutable_buffer", "add.Tensor"), ("mutable_buffer", "update_buffer"), ("add.Tensor", "update_buffer")}
    assert wanted <= flows(stage_of(parse_module(XirContext(), text), ""))


def test_graphs_without_order_are_drawn() -> None:
    text = """
"test.graph"() ({
  %a = "test.f"(%b) : (i32) -> i32
  %b = "test.g"(%a) : (i32) -> i32
^other(%c: i32):
  "test.end"(%c, %a) : (i32, i32) -> ()
}) : () -> ()
"""
    stage = stage_of(parse_module(XirContext(allow_unregistered=True), text), "")
    assert {"graph", "f", "g", "input", "end"} == set(labels(stage))


# Places and costs.


def test_a_file_tells_the_places_that_the_compiler_knew(file: Path, recorded: Recorder) -> None:
    def places(stage: Stage) -> set[tuple[str, str, int]]:
        return {
            (entry.label, place.module, place.line)
            for entry in stage.entries
            for place in entry.places
            if entry.name.startswith("xnnpack.") and entry.label not in ("subgraph", "yield", "constant")
        }

    told = places(stage_of(read_file(file), ""))
    assert told == places(recorded.stages[-1])
    assert ("conv2d", "stem", small_programs.Branches.forward.__code__.co_firstlineno + 1) in told


def test_costs(recorded: Recorder) -> None:
    costs = {entry.label: entry for entry in recorded.stages[0].entries if entry.macs is not None}
    convolutions = [entry.macs for entry in recorded.stages[0].entries if entry.label == "conv2d"]
    assert convolutions == [8 * 8 * 8 * 27, 8 * 8 * 8 * 8]
    assert costs["linear"].macs == 8 * 5
    assert costs["linear"].nbytes == 4 * (8 + 8 * 5 + 5 + 5)
    assert sum(entry.macs or 0 for entry in recorded.stages[-1].entries) == 8 * 8 * 8 * (27 + 8) + 40


# The document.


def test_remarks_are_at_their_ops(recorded: Recorder) -> None:
    made = document(recorded.stages, recorded.remarks)
    (remark,) = [remark for remark in made["remarks"] if "sort" in remark["message"]]
    ops = made["stages"][0]["ops"]
    at = [made["strings"][op["label"]] for op in ops if set(op["places"]) & set(remark["places"])]
    assert [label for label in at if "sort" in label] == at
    assert at


def test_documents_are_json_and_name_no_weights(recorded: Recorder) -> None:
    made = document(recorded.stages, recorded.remarks, title="m")
    assert json.loads(json.dumps(made)) == made
    assert len(json.dumps(made)) < 300_000


def test_profiled_times_are_those_of_the_profile(recorded: Recorder, file: Path, trace: Path) -> None:
    profile = read_profile(trace)
    assert profile.executions == 2
    for stages in ([stage_of(read_file(file), "")], recorded.stages):
        made = document(stages, [], profile)
        ops, strings = made["stages"][-1]["ops"], made["strings"]
        ran: list[tuple[str, Any]] = [(strings[ops[op]["label"]], names) for op, _, names in made["profile"]["ops"]]
        first, second = [names for label, names in ran if label == "conv2d"]
        assert first[0].startswith("Convolution")
        # XNNPACK runs a pointwise convolution as what it is.
        assert second[0].startswith(("Convolution", "Fully Connected"))
        assert [names[0].split(" (")[0] for label, names in ran if label == "fully_connected"] == ["Fully Connected"]
        events = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("cat") in ("operator", "kernel")]
        inside = sum(t for op, t, _ in made["profile"]["ops"] if strings[ops[op]["name"]] != "pte.delegate_call")
        in_trace = sum(event["dur"] for event in events) / 2
        assert inside + made["profile"]["unexplained"] == pytest.approx(in_trace, abs=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('"op":"conv2d"', "node 0 of delegate 0 computes exp and here conv2d"),
        ('"name":"aten::topk.values"', "calls exp in it, and here topk.values"),
    ],
)
def test_a_profile_of_other_operators_is_refused(change: str, message: str, trace: Path, file: Path) -> None:
    text = trace.read_text()
    assert change in text
    key, _ = change.split(":", 1)
    (other := trace.with_name("other.json")).write_text(text.replace(change, f'{key}:"exp"'))
    with pytest.raises(ProfileError, match=message.replace("aten::", "")):
        document([stage_of(read_file(file), "")], [], read_profile(other))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ((8, 4, 2), (8, 5, 2), "node 0 of delegate 0 writes 80 bytes in it, and here 64"),
        ((6, 4, 2), (8, 4, 2), "node 0 of delegate 0 has constants of 144 bytes in it, and here 112"),
    ],
)
def test_a_profile_of_equal_structure_and_other_sizes_is_refused(
    before: tuple[int, ...], after: tuple[int, ...], message: str, tmp_path: Path
) -> None:
    programs = [linears(*sizes) for sizes in (before, after)]
    programs[1].save(tmp_path / "after.pte")
    method = Runtime.get().load_program(tmp_path / "after.pte").load_method("forward")
    method.execute([torch.rand(4, after[0])], profile=True)
    method.profile().to_trace(tmp_path / "after.json")
    profile = read_profile(tmp_path / "after.json")
    assert document([stage_of(programs[1].module, "")], [], profile)["profile"]["executions"] == 1
    with pytest.raises(ProfileError, match=f"of another program, or of other input sizes: {message}"):
        document([stage_of(programs[0].module, "")], [], profile)


def linears(first: int, second: int, third: int) -> ExecutorchProgram:
    """Two linear layers and what is between them, of four rows."""
    model = torch.nn.Sequential(torch.nn.Linear(first, second), torch.nn.Tanh(), torch.nn.Linear(second, third))
    exported = torch.export.export(model.eval(), (torch.rand(4, first),))
    return xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()


def test_a_profile_that_lacks_an_instruction_is_refused(trace: Path, file: Path) -> None:
    profile = read_profile(trace)
    calls = dict(list(profile.calls.items())[:-1])
    with pytest.raises(ProfileError, match=r"it lacks instruction [0-9]+, "):
        document([stage_of(read_file(file), "")], [], dataclasses.replace(profile, calls=calls))


def test_another_programs_profile_is_refused(trace: Path) -> None:
    named = {"forward": "node 0 of delegate 0", "main": "of a method 'forward', the program has 'main'"}
    for name, message in named.items():
        other = parse_module(XirContext(), f"func.func @{name}() {{ func.return }}")
        with pytest.raises(ProfileError, match=message):
            document([stage_of(other, "")], [], read_profile(trace))
