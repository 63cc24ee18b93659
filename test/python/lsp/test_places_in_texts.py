"""Definitions, uses, hovers, choices and the outline, at places in a text."""

from __future__ import annotations

import re

import pytest

from xir.lsp.analysis import TextAnalysis
from xir.lsp.completion import CompletionChoice, complete
from xir.lsp.hover import hover
from xir.lsp.names import name_at, occurrences
from xir.lsp.outline import outline

VALUES = """func.func @one(^a^%x: tensor<4xf32>) -> tensor<4xf32> {
  ^r^%0 = edge.relu(^b^%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = xnnpack.subgraph(^s^%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(^c^%x: tensor<4xf32>):
    %y = xnnpack.clamp ^d^%x {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %y : tensor<4xf32>
  }
  func.return %1 : tensor<4xf32>
}
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
"""


_MARK = re.compile(r"\^(\w+)\^")


def marked(text: str) -> tuple[str, dict[str, int]]:
    """The text without its marks `^name^`, and the offset of each."""
    places: dict[str, int] = {}
    while (match := _MARK.search(text)) is not None:
        assert match[1] not in places
        places[match[1]] = match.start()
        text = text[: match.start()] + text[match.end() :]
    return text, places


def shown(text: str, at: int) -> str:
    found = hover(TextAnalysis(text), at)
    assert found is not None
    return found.text


def chosen(text: str, at: int) -> list[CompletionChoice]:
    return complete(TextAnalysis(text), at)


SPLIT = """func.func @f(%x: tensor<4xf32>) -> tensor<2xf32> {
  ^d^%0:2 = edge.split.Tensor(%x) {split_size = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return ^u^%0#1 : tensor<2xf32>
}
"""
CALLED = "func.func private ^d^@callee()\nfunc.func @f() {\n  func.call ^u^@callee() : () -> ()\n  func.return\n}\n"
ALIAS = "func.func @f() {\n  func.return {x = ^u^#a}\n}\n^d^#a = 3 : i64\n"
UNFINISHED = "func.func @f(^d^%x: tensor<4xf32>) {\n  ^r^%0 = edge.relu(^u^%x\n  func.return ^v^%x, ^w^%0\n}\n"
NOTHING = "func.func @f() {\n  func.return ^u^%nothing : i32\n}\n"


@pytest.mark.parametrize(
    ("marks", "at", "defined", "used", "hovered"),
    [
        (VALUES, "b", "a", "b", "%x : tensor<4xf32>"),
        (VALUES, "d", "c", "d", "%x : tensor<4xf32>"),  # the one of its region
        (VALUES, "r", "r", "s", "%0 : tensor<4xf32>"),
        (SPLIT, "u", "d", "u", "%0 : tensor<2xf32>, tensor<2xf32>"),
        (CALLED, "u", "d", "u", "func.func private @callee()"),
        (ALIAS, "u", "d", "u", "#a = 3 : i64"),
        (UNFINISHED, "u", "d", "uv", ""),
        (UNFINISHED, "w", "", "rw", ""),
        (NOTHING, "u", "", "u", None),
    ],
)
def test_definitions_and_uses(marks: str, at: str, defined: str, used: str, hovered: str | None) -> None:
    text, places = marked(marks)
    analysis = TextAnalysis(text)
    token = name_at(analysis, places[at])
    assert token is not None
    found = occurrences(analysis, token)
    assert [each.start for each in found.definitions] == [places[name] for name in defined]
    uses = [each.start for each in found.all if each not in found.definitions]
    assert uses == [places[name] for name in used if name not in defined]
    if hovered is None:
        assert hover(analysis, places[at]) is None
    elif hovered:
        assert shown(text, places[at]).startswith(f"```mlir\n{hovered}\n```")


# --- Hovers ----------------------------------------------------------------------------------------------------------


def test_a_value_shows_its_type_and_where_it_is_from() -> None:
    text, at = marked(VALUES)
    assert shown(text, at["s"]) == (
        "```mlir\n%0 : tensor<4xf32>\n```\n\nDefined by\n\n"
        "```mlir\n%0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>\n```"
    )
    assert shown(text, at["b"]).endswith("An argument of `func.func @one`")
    assert shown(text, at["d"]).endswith("An argument of `xnnpack.subgraph`")


def test_an_op_shows_what_its_dialect_says_of_it() -> None:
    text, _ = marked(VALUES)
    assert "aten::relu(Tensor self) -> Tensor" in shown(text, text.index("edge.relu"))
    clamp = shown(text, text.index("xnnpack.clamp") + 5)
    assert clamp.startswith("**`xnnpack.clamp`**")
    assert "| `output_min` | optional property | `float` |" in clamp


def test_a_pass_of_a_run_line_shows_its_description() -> None:
    text = "// RUN: xir-opt %s --fuse-conv-relu | filecheck %s\n"
    assert shown(text, text.index("conv")).startswith("**`fuse-conv-relu`**")
    assert hover(TextAnalysis(text), text.index("filecheck")) is None


# --- Choices ---------------------------------------------------------------------------------------------------------


def test_ops_are_chosen_from_after_their_dialect() -> None:
    text, at = marked("func.func @f(%x: tensor<4xf32>) {\n  %0 = edge.mean^u^\n  func.return\n}\n")
    assert [choice.text for choice in chosen(text, at["u"])] == ["edge.mean", "edge.mean.dim"]
    (first, _) = chosen(text, at["u"])
    assert text[first.start : first.end] == "edge.mean"
    assert first.detail == "Mean of all elements."


def test_ops_of_every_dialect_begin_a_line() -> None:
    text, at = marked("func.func @f() {\n  ^u^\n  func.return\n}\n")
    dialects = {choice.text.split(".")[0] for choice in chosen(text, at["u"])}
    assert {"edge", "xnnpack", "pte", "func", "delegate", "builtin"} <= dialects


def test_values_are_those_that_can_be_seen() -> None:
    text, at = marked(VALUES.replace("func.return %1", "func.return %^u^"))
    assert [(choice.text, choice.detail) for choice in chosen(text, at["u"])] == [
        ("%x", "tensor<4xf32>"),
        ("%0", "tensor<4xf32>"),
        ("%1", "tensor<4xf32>"),
    ]


def test_properties_are_those_of_the_op() -> None:
    text, at = marked("func.func @f(%x: tensor<4xf32>) {\n  %0 = edge.mean.dim(%x) {^u^\n  func.return\n}\n")
    assert [choice.text for choice in chosen(text, at["u"])] == ["dim", "keepdim", "dtype"]
    text, at = marked(text.replace("{\n  func", "{dim = array<i64: 0>, k^u^}\n  func"))
    assert [choice.text for choice in chosen(text, at["u"])] == ["keepdim"]


def test_symbols_types_and_passes_are_chosen_from() -> None:
    text, at = marked("func.func private @g()\nfunc.func @f() {\n  func.call @^u^\n}\n")
    assert [choice.text for choice in chosen(text, at["u"])] == ["@g", "@f"]
    text, at = marked("!mine = i32\nfunc.func @f(%x: !^u^\n")
    texts = [choice.text for choice in chosen(text, at["u"])]
    assert texts[0] == "!mine"
    assert "!pte.tensor" in texts or "!quant.uniform" in texts
    text, at = marked("// RUN: xir-opt %s --fuse-conv^u^\n")
    assert [choice.text for choice in chosen(text, at["u"])] == ["fuse-conv-relu"]


def test_nothing_is_chosen_in_comments_and_types() -> None:
    text, at = marked("// edge.re^u^\nfunc.func @f(%x: ten^v^")
    assert chosen(text, at["u"]) == chosen(text, at["v"]) == []


# --- The outline -----------------------------------------------------------------------------------------------------


def test_the_outline_has_functions_and_what_is_in_them() -> None:
    text = (
        "pte.program {\n  pte.execution_plan @forward {\n    %0 = pte.int 1\n"
        "    pte.signature inputs (%0) outputs (%0)\n  }\n}\nfunc.func @f() {\n  func.ret\n}\n"
    )
    forward, f = outline(TextAnalysis(text))
    assert (forward.name, forward.op) == ("@forward", "pte.execution_plan")
    assert text[forward.name_start : forward.name_end] == "@forward"
    assert text[f.start : f.end].strip() == "func.func @f() {\n  func.ret\n}"
