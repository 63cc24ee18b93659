"""Remarks: which are heard, what files of them say, and that passes make them."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode
from xdsl.dialects.builtin import UNKNOWN_LOC

from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticEngine, Severity
from xir.ir.location import file_location
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.ir.remark_files import final_remarks, json_of, yaml_of
from xir.ir.remarks import (
    Remark,
    RemarkFilter,
    RemarkKind,
    analysis,
    function_of,
    heard_remarks,
    missed,
    passed,
    remark,
    wanted,
)
from xir.tools.xir_opt import main
from xir.transforms.registry import PASSES, passes_of

LIT = Path(__file__).parents[2] / "lit" / "transforms"

HERE = file_location("model.py", 12, 3)


def made(text: str = "text", **parts: Any) -> Remark:
    return replace(remark(RemarkKind.MISSED, HERE, "some-pass", "name", text), **parts)


# --- Who hears what ----------------------------------------------------------------------------------------------


def said_by(category: str, wanted_remarks: RemarkFilter) -> list[tuple[RemarkKind, str]]:
    """The kinds and names of what is heard of one remark of each kind by a pass."""
    engine = DiagnosticEngine()
    with engine.collect() as heard, heard_remarks(engine, wanted_remarks, category):
        passed(HERE, "a", "did")
        missed(HERE, "b", "did not", "why")
        analysis(HERE, "c", "found")
    return [(each.kind, each.name) for each in heard if isinstance(each, Remark)]


def test_filters_are_of_kinds_and_of_whole_names_of_passes() -> None:
    everything = [(RemarkKind.PASSED, "a"), (RemarkKind.MISSED, "b"), (RemarkKind.ANALYSIS, "c")]
    assert said_by("fold-affine", RemarkFilter.of(".*")) == everything
    assert said_by("fold-affine", RemarkFilter.of("fold")) == []
    assert said_by("fold-affine", RemarkFilter.of("fold.*")) == everything
    assert said_by("fold-affine", RemarkFilter.of(missed="fold-affine|cse")) == [(RemarkKind.MISSED, "b")]
    assert said_by("cse", RemarkFilter.of("fold-.*", passed="cse")) == [(RemarkKind.PASSED, "a")]
    assert said_by("cse", RemarkFilter()) == []
    with pytest.raises(ValueError, match=re.escape("'(' is no regular expression")):
        RemarkFilter.of("(")


def test_nobody_hears_without_a_filter() -> None:
    module = parse_module(
        ctx := XirContext(),
        """
        func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = edge.mul.Scalar(%x) {other = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
          %1 = edge.mul.Scalar(%x) {other = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
          %2 = edge.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          func.return %2 : tensor<4xf32>
        }
        """,
    )
    quiet, heard = module, module.clone()
    with ctx.diagnostics.collect() as said:
        PassManager(ctx, passes_of("cse")).run(quiet)
        assert not said
        ctx.remark_filter = RemarkFilter.of("cse")
        PassManager(ctx, passes_of("cse")).run(heard)
    (remark,) = said
    assert isinstance(remark, Remark)
    assert (remark.category, remark.name, remark.function) == ("cse", "merge", "f")
    assert not any(map(wanted, RemarkKind)), "outside of passes nobody listens"


def test_the_function_is_found() -> None:
    module = parse_module(XirContext(), "func.func @here() { func.return }")
    assert function_of(next(iter(module.body.ops))) == "here"
    assert function_of(next(op for op in module.walk() if op.name == "func.return")) == "here"
    assert function_of(module) == ""
    assert function_of(HERE) == ""


# --- Text --------------------------------------------------------------------------------------------------------


def test_a_remark_reads_as_a_sentence_and_as_mlir_prints_it() -> None:
    said = remark(
        RemarkKind.MISSED, HERE, "some-pass", "fuse", "not fused", reason="two users", hint="copy it",
        figures={"Bytes": 8},
    )  # fmt: skip
    assert said.severity is Severity.REMARK
    assert str(said) == "model.py:12:3: remark: some-pass: not fused: two users (copy it)"
    # As `mlir-opt-22 --test-remark` prints its own.
    assert said.mlir_text() == (
        '[Missed] fuse | Category:some-pass | Bytes=8, Reason="two users", Remark="not fused", Suggestion="copy it"'
    )
    assert "| Function=main |" in replace(said, function="main").mlir_text()


# --- Files -------------------------------------------------------------------------------------------------------


def documents(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Tag and content of each document of a YAML file, by a reader that is not ours; all scalars as text."""

    def content(node: Node) -> Any:
        if isinstance(node, ScalarNode):
            return node.value
        if isinstance(node, MappingNode):
            return {key.value: content(value) for key, value in node.value}
        return [content(each) for each in node.value]

    return [(str(node.tag), content(node)) for node in YAML().compose_all(text)]


@pytest.mark.parametrize(
    "text",
    ["plain words", "it's", 'a "quoted" one', "a: b", "- a", "# no comment", "yes", "null", "12", "1.5e3",
     "ends in : ",
     " leading", "{a, b}", "[x]", "é → ü", "two\nlines", "tab\there", "<unknown>", "*alias", "&anchor", "!tag", "%x",
     "@", "`", "", "\x07", "..."],
)  # fmt: skip
def test_yaml_holds_any_text(text: str) -> None:
    ((_, found),) = documents(yaml_of([made(text, reason="because", figures=(("Op", text),))]))
    said = [] if text == "" else [{"Remark": text}]
    assert found["Args"] == [*said, {"Reason": "because"}, {"Op": text}]


def test_yaml_is_what_llvm_writes() -> None:
    text = yaml_of([made(function="f"), made(location=UNKNOWN_LOC, kind=RemarkKind.FAILED)])
    # The layout is that of `mlir-opt-22 --remark-format=yaml`.
    assert text == (
        "--- !Missed\n"
        "Pass:            some-pass\n"
        "Name:            name\n"
        "DebugLoc:        { File: model.py, Line: 12, Column: 3 }\n"
        "Function:        f\n"
        "Args:\n"
        "  - Remark:          text\n"
        "...\n"
        "--- !Failure\n"
        "Pass:            some-pass\n"
        "Name:            name\n"
        "Function:        '<unknown function>'\n"
        "Args:\n"
        "  - Remark:          text\n"
        "...\n"
    )
    (tag, first), (other, second) = documents(text)
    assert (tag, other) == ("!Missed", "!Failure")
    assert first["DebugLoc"] == {"File": "model.py", "Line": "12", "Column": "3"}
    assert second["Function"] == "<unknown function>"


def test_json() -> None:
    content = json.loads(json_of([made(function="f", reason="r", hint="h", figures=(("Bytes", 8),))]))
    assert content == {
        "version": 1,
        "remarks": [
            {
                "kind": "missed", "pass": "some-pass", "name": "name", "function": "f", "file": "model.py", "line": 12,
                "column": 3, "remark": "text", "reason": "r", "hint": "h", "figures": {"Bytes": 8},
            }
        ],
    }  # fmt: skip
    assert json.loads(json_of([])) == {"version": 1, "remarks": []}


def test_the_last_of_its_like_is_final() -> None:
    first, second, other = made("first"), made("second"), made("other", location=UNKNOWN_LOC)
    assert final_remarks([first, other, second]) == [second, other]


# --- Passes ------------------------------------------------------------------------------------------------------

QUIET = {
    "check-bit-exact": "it looks, and changes nothing",
    "check-delegates": "it looks, and changes nothing",
    "check-quantization": "it looks, and changes nothing",
    "check-xnnpack": "it looks, and changes nothing; what XNNPACK refuses is the remark of the pass that delegates",
    "lower-to-pte": "it changes the form of a program, and remarks kernels that are missing in any case",
    "mark-delegates": "what it marks is the remark of the pass that forms delegates",
}
"""The passes that have nothing to remark unless something is wrong, and why."""


def remarks_of(name: str, path: Path, folder: Path) -> list[dict[str, Any]]:
    """What a pass remarks on one of its lit tests."""
    run = re.search(
        r"RUN:.*?xir-opt ([^|]*?)(?: 2>&1)?(?: > ?\S+)?\s*(?:\||$|&&)", path.read_text("utf-8"), re.MULTILINE
    )
    assert run is not None, path
    arguments = [str(path) if each == "%s" else each for each in shlex.split(run[1])]
    output = folder / "remarks.json"
    flags = [f"--remarks-filter={name}", f"--remarks-output-file={output}", "--mlir-elide-elementsattrs-if-larger=1"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        main([*arguments, *flags])
    return json.loads(output.read_text("utf-8"))["remarks"]


@pytest.mark.parametrize("name", sorted(PASSES.keys() - QUIET.keys()))
def test_every_optimizing_pass_makes_remarks(name: str, tmp_path: Path) -> None:
    tests = [path for path in sorted(LIT.rglob("*.mlir")) if name in (path.stem, path.parent.name)]
    said = next((found for path in tests if (found := remarks_of(name, path, tmp_path))), [])
    assert said, f"{name} says nothing on {', '.join(path.name for path in tests)}"
    assert {each["pass"] for each in said} == {name}
    assert all(each["remark"] and each["name"] for each in said)
    if name != "drop-dead-resources":  # which are the module's
        assert any(each["function"] for each in said)


def test_the_quiet_passes_exist() -> None:
    assert QUIET.keys() <= PASSES.keys()


def test_remarks_change_nothing(tmp_path: Path) -> None:
    path = next(iter(LIT.glob("fold-affine.mlir")))
    printed: list[str] = []
    for flags in ([], ["--remarks-filter=.*", f"--remarks-output-file={tmp_path / 'all.yaml'}"]):
        with redirect_stdout(io.StringIO()) as out:
            assert main([str(path), "--fold-affine", "--split-input-file", *flags]) == 0
        printed.append(out.getvalue())
    assert printed[0] == printed[1] != ""
    assert documents((tmp_path / "all.yaml").read_text("utf-8"))
