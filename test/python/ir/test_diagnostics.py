"""Diagnostics: where they point, how they read, who gets them."""

import io

import pytest
from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, CallSiteLoc, FusedLoc, LocationAttr, NoneAttr

from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic, DiagnosticEngine, DiagnosticError, Severity, note, stream_handler
from xir.ir.location import (
    call_location,
    file_location,
    find_file_location,
    find_name,
    format_location,
    fused_location,
    location_of,
    location_of_all,
    name_location,
    place,
)
from xir.ir.parser import parse_module

HERE = file_location("model.py", 41, 7)
LINE = file_location("model.py", 41)


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (HERE, "model.py:41:7"),
        (LINE, "model.py:41"),
        (name_location("conv1", HERE), "model.py:41:7"),
        (name_location("conv1"), "value 'conv1'"),
        (name_location("a", name_location("b")), "value 'a'"),
        (name_location("a", name_location("aten::abs")), "value 'a' (aten::abs)"),
        (
            name_location("a", call_location(UNKNOWN_LOC, "aten::abs", "head.0")),
            "value 'a' (aten::abs in module 'head.0')",
        ),
        (call_location(UNKNOWN_LOC, "", "head.0"), "module 'head.0'"),
        (place("calibration input 3"), "calibration input 3"),
        (CallSiteLoc(HERE, LINE), "model.py:41:7"),
        (CallSiteLoc(UNKNOWN_LOC, LINE), "model.py:41"),
        (FusedLoc(ArrayAttr([UNKNOWN_LOC, HERE, LINE]), NoneAttr()), "model.py:41:7"),
        (UNKNOWN_LOC, "unknown place"),
    ],
)
def test_a_location_reads_as_its_first_file_line(location: LocationAttr, text: str) -> None:
    assert format_location(location) == text


def test_a_fusion_is_flat_and_without_repetition() -> None:
    fused = fused_location(HERE, UNKNOWN_LOC, fused_location(LINE, HERE))
    assert fused == FusedLoc(ArrayAttr([HERE, LINE]), NoneAttr())
    assert fused_location(HERE, HERE) == HERE
    assert fused_location() == UNKNOWN_LOC
    assert find_name(fused_location(HERE, name_location("n"))) == "n"
    assert find_file_location(fused_location(name_location("n"), LINE)) == LINE


def test_values_and_blocks_are_where_their_owner_is() -> None:
    module = parse_module(XirContext(), "func.func @f(%x: i32) -> i32 {\n  func.return %x : i32\n}", "f.mlir")
    function = module.body.block.first_op
    assert function is not None
    block = function.regions[0].block
    assert format_location(location_of(block.args[0])) == "f.mlir:1:14"
    assert format_location(location_of(block)) == "f.mlir:1:1"
    assert format_location(location_of(block.last_op)) == "f.mlir:2:3"
    assert location_of(None) == UNKNOWN_LOC


def test_an_error_is_one_line_and_one_for_each_note() -> None:
    error = DiagnosticError(HERE, "no such thing", [note(LINE, "it was here")])
    assert str(error) == "model.py:41:7: error: no such thing\nmodel.py:41: note: it was here"


def test_what_is_only_a_name_reads_as_a_value() -> None:
    assert str(DiagnosticError(name_location("x_0"), "it is large")) == "value 'x_0': error: it is large"


def test_the_newest_handler_comes_first_and_may_pass_on() -> None:
    engine = DiagnosticEngine()
    seen: list[str] = []

    def handle(name: str, ends: bool):
        def handler(diagnostic: Diagnostic) -> bool:
            seen.append(f"{name}: {diagnostic.message}")
            return ends

        return handler

    with engine.handler(handle("outer", True)), engine.handler(handle("inner", False)):
        engine.remark(HERE, "a")
    with engine.handler(handle("outer", True)), engine.handler(handle("inner", True)):
        engine.warning(HERE, "b")
    assert seen == ["inner: a", "outer: a", "inner: b"]


def test_without_handlers_remarks_are_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    engine = DiagnosticEngine()
    engine.remark(HERE, "chatter")
    engine.warning(HERE, "take care")
    engine.error(HERE, "stop")
    assert capsys.readouterr().err == "model.py:41:7: warning: take care\nmodel.py:41:7: error: stop\n"
    assert engine.error_count == 1


def test_collecting_and_printing() -> None:
    engine = DiagnosticEngine()
    stream = io.StringIO()
    with engine.handler(stream_handler(stream)):
        engine.remark(HERE, "printed")
        with engine.collect() as collected:
            engine.error(HERE, "collected")
    assert stream.getvalue() == "model.py:41:7: remark: printed\n"
    assert [(d.severity, d.message) for d in collected] == [(Severity.ERROR, "collected")]
    assert not engine.handlers


def test_the_line_that_a_diagnostic_is_at() -> None:
    long = "x" * 401
    sources = {"a.mlir": f"first\n\tsecond\n{long}\n"}
    stream = io.StringIO()
    with (engine := DiagnosticEngine()).handler(stream_handler(stream, sources)):
        behind = (
            note(file_location("a.mlir", 1, 6), "behind the end"),
            note(file_location("b.mlir", 1, 1), "elsewhere"),
        )
        engine.error(file_location("a.mlir", 2, 3), "below a tab", behind)
        engine.error(file_location("a.mlir", 3, 1), "too long to show")
        engine.error(file_location("a.mlir", 9, 1), "no such line")
    assert stream.getvalue() == (
        "a.mlir:2:3: error: below a tab\n\tsecond\n\t ^\n"
        "a.mlir:1:6: note: behind the end\nfirst\n     ^\n"
        "b.mlir:1:1: note: elsewhere\n"
        "a.mlir:3:1: error: too long to show\n"
        "a.mlir:9:1: error: no such line\n"
    )


def test_what_is_made_of_several_is_at_the_first_that_says_a_line() -> None:
    text = 'func.func @f() { "test.a"() : () -> () "test.b"() : () -> () "test.c"() : () -> () func.return }'
    function = parse_module(XirContext(allow_unregistered=True), text).body.block.first_op
    assert function is not None
    a, b, c, _ = function.regions[0].block.ops
    a.location, b.location, c.location = name_location("a"), name_location("b", LINE), HERE
    assert location_of_all([a, b, c]) == b.location
    assert location_of_all([a]) == a.location
