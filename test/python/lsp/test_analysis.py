"""What the language server finds wrong in a text, and that one mistake hides no other."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutated_text import draw

from xir.lsp.analysis import TextAnalysis
from xir.lsp.completion import complete
from xir.lsp.document import Document
from xir.lsp.hover import hover
from xir.lsp.names import name_at, occurrences
from xir.lsp.outline import outline

LIT = Path(__file__).parents[2] / "lit"

RELU = """func.func @{name}(%x: tensor<4xf32>) -> tensor<4xf32> {{
  {op} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}}
"""
GOOD = RELU.format(name="good", op="%0 = edge.relu(%x)")


def told(text: str) -> list[tuple[str, str]]:
    """(what is marked, message) of each problem."""
    return [(text[problem.start : problem.end], problem.message) for problem in TextAnalysis(text).problems]


def test_a_good_text_has_no_problems() -> None:
    assert told(GOOD) == []


def test_mistakes_of_the_parser_and_of_the_verifier_are_told_together() -> None:
    wrong_type = GOOD.replace("-> tensor<4xf32>\n", "-> tensor<5xf32>\n").replace("%0 : tensor<4", "%0 : tensor<5")
    text = (
        RELU.format(name="a", op="%0 = edge.rellu(%x)")
        + GOOD
        + RELU.format(name="b", op="%0 = edge.relu(%y)")
        + wrong_type.replace("good", "c")
        + GOOD.replace("good", "d").replace("->", "~>")
    )  # fmt: skip
    assert told(text) == [
        ("edge.rellu", "'edge.rellu': the dialect 'edge' has no such operation"),
        ("%y", "'%y' is used but never defined"),
        ("edge.relu", "'edge.relu' op result #0 has type tensor<5xf32>, expected tensor<4xf32>"),
        ("~", "Unexpected character: ~"),
    ]


def test_a_function_without_its_end_is_one_problem() -> None:
    problems = told(GOOD.replace("\n}", "") + GOOD.replace("good", "next"))
    assert [message for _, message in problems] == ["expected an operation, a block, or '}' at the end of the region"]


def test_a_mistake_in_a_nested_module_leaves_the_other_functions() -> None:
    inner = RELU.format(name="a", op="%0 = edge.nothing(%x)") + GOOD
    text = "builtin.module {\n" + "".join(f"  {line}\n" for line in inner.splitlines()) + "}\n"
    analysis = TextAnalysis(text)
    assert [problem.message for problem in analysis.problems] == [
        "'edge.nothing': the dialect 'edge' has no such operation"
    ]
    assert [entry.name for entry in outline(analysis)] == ["@a", "@good"]


def test_a_call_of_a_function_with_a_mistake_is_none() -> None:
    call = RELU.format(name="caller", op="%0 = func.call @a(%x)")
    assert len(told(RELU.format(name="a", op="%0 = edge.rellu(%x)") + call)) == 1


def test_an_alias_with_a_mistake_is_one_problem() -> None:
    assert len(told("#a = #b\n\nfunc.func @f() {\n  func.return {x = #a}\n}\n")) == 1


def test_a_problem_is_told_where_the_text_is_and_not_where_the_model_was() -> None:
    text = GOOD.replace("-> tensor<4xf32>\n", '-> tensor<5xf32> loc("model.py":1:1)\n')
    text = text.replace("%0 : tensor<4", "%0 : tensor<5")
    assert [where for where, _ in told(text)] == ["edge.relu"]


def test_a_redefinition_points_at_the_first() -> None:
    text = GOOD.replace("  func.return", "  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  func.return")
    (problem,) = TextAnalysis(text).problems
    assert problem.start == text.rindex("%0 = ")
    assert [(note.start, note.message) for note in problem.notes] == [(text.index("%0 = "), "previously defined here")]


def test_parts_of_a_file_are_modules_of_their_own() -> None:
    text = f"{GOOD}// -----\n{GOOD}// -----\n{GOOD.replace('relu', 'rellu')}"
    document = Document()
    document.update(text)
    (problem,) = document.problems()
    assert text[problem.start : problem.end] == "edge.rellu"
    first = document.parts[0].analysis
    document.update(text.replace("rellu", "relu"))
    assert document.problems() == []
    assert document.parts[0].analysis is first


def test_run_lines_say_what_the_file_is() -> None:
    document = Document()
    document.update('// RUN: xir-opt %s --allow-unregistered-dialect --split-input-file="// +++" | filecheck %s\n'
                    '"a.b"() {sym_name = "x"} : () -> ()\n// +++\n"a.b"() : () -> ()\n')  # fmt: skip
    assert document.problems() == []
    assert len(document.parts) == 2
    document.update('"a.b"() : () -> ()\n')
    assert [problem.message.split(" (")[0] for problem in document.problems()] == ["'a.b' belongs to no known dialect"]


def test_files_that_xir_opt_takes_have_no_problems_and_all_names_resolve() -> None:
    folders = [LIT / "dialects" / name for name in ("delegate", "pte", "quant", "xnnpack")]
    texts = [path.read_text("utf-8") for folder in folders for path in folder.glob("*.mlir")]
    texts = [text for text in texts if "verify-diagnostics" not in text and "not xir-opt" not in text]
    assert len(texts) > 5
    for text in texts:
        document = Document()
        document.update(text)
        assert document.problems() == [], text
        for part in document.parts:
            for token in part.analysis.tokens:
                if token.text.startswith("%"):
                    assert len(occurrences(part.analysis, token).definitions) == 1, (token, text)


def use_everything(text: str, offset: int) -> None:
    document = Document()
    document.update(text)
    document.problems()
    part = document.part_at(offset)
    at = min(offset - part.start, len(part.analysis.text))
    hover(part.analysis, at)
    complete(part.analysis, at)
    outline(part.analysis)
    if (token := name_at(part.analysis, at)) is not None:
        occurrences(part.analysis, token)


WHOLE = "\n".join((
    "#loc = loc(\"f\":1:2)", "!t = tensor<4xf32>", GOOD.strip(), "// -----",
    'func.func @g(%x: !t) -> !t {', '  %0 = xnnpack.subgraph(%x) : (!t) -> !t {', '  ^bb0(%a: !t):',
    '    %b = xnnpack.clamp %a {output_min = 0.0 : f32} : !t -> !t', '    xnnpack.yield %b : !t', '  }',
    '  func.return %0 : !t', '}',
))  # fmt: skip


def test_no_beginning_of_a_text_is_too_much() -> None:
    for end in range(len(WHOLE) + 1):
        use_everything(WHOLE[:end], end)
        use_everything(WHOLE[:end] + "\n" + WHOLE[end + 7 :], end)


def test_no_mistake_is_too_much() -> None:
    for seed in range(60):
        text = draw(seed).text
        use_everything(text, len(text) * seed // 60)
