"""The TextMate grammar in `editors/vscode`: what each piece of a text is coloured as.

Editors run such grammars with Oniguruma. Its expressions here are those that Python's `re` has as well, and the rules
are few: on each line the pattern with the earliest match wins, of several the first; `begin` opens a range up to `end`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdsl.utils.mlir_lexer import MLIRTokenKind as Kind

from xir.lsp.completion import ops
from xir.lsp.tokens import Tokens

ROOT = Path(__file__).parents[3]
EXTENSION = ROOT / "editors/vscode"
MANIFEST = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
(GRAMMAR_ENTRY,) = MANIFEST["contributes"]["grammars"]
GRAMMAR = json.loads((EXTENSION / GRAMMAR_ENTRY["path"]).read_text(encoding="utf-8"))

Rule = dict[str, Any]


def flat(rules: list[Rule]) -> Iterator[Rule]:
    """The rules in their order, the included ones in place."""
    for rule in rules:
        if "include" in rule:
            yield from flat([GRAMMAR["repository"][rule["include"].removeprefix("#")]])
        elif "match" in rule or "begin" in rule:
            yield rule
        else:
            yield from flat(rule["patterns"])


def scopes(line: str) -> list[str]:
    """The innermost scope of each character of a line; "" for none."""
    found = [""] * len(line)
    stack: list[tuple[Rule | None, list[Rule]]] = [(None, list(flat(GRAMMAR["patterns"])))]
    position = 0
    while position <= len(line):
        inside, rules = stack[-1]
        end = re.compile(inside["end"]).search(line, position) if inside else None
        matches = [(match.start(), index, rule, match) for index, rule in enumerate(rules)
                   if (match := re.compile(rule.get("match") or rule["begin"]).search(line, position))]  # fmt: skip
        first = min(matches, key=lambda each: each[:2], default=None)
        if inside is not None and end is not None and (first is None or end.start() <= first[0]):
            paint(found, inside, end, position, "endCaptures")
            stack.pop()
            position = max(end.end(), position)
            continue
        if first is None:
            break
        _, _, rule, match = first
        if inside is not None:
            fill(found, inside.get("name"), position, match.start())
        paint(found, rule, match, match.start(), "captures" if "match" in rule else "beginCaptures")
        if "begin" in rule:
            stack.append((rule, list(flat(rule.get("patterns", [])))))
        position = match.end() if match.end() > position else position + 1
    return found


def paint(found: list[str], rule: Rule, match: re.Match[str], start: int, captures: str) -> None:
    fill(found, rule.get("name"), start, match.end())
    for group, capture in rule.get(captures, {}).items():
        if match[int(group)] is not None:
            fill(found, capture["name"], *match.span(int(group)))


def fill(found: list[str], scope: str | None, start: int, end: int) -> None:
    if scope is not None:
        found[start:end] = [scope] * (end - start)


def scope_of(line: str, piece: str) -> set[str]:
    """The scopes of the first place where a piece stands."""
    start = line.index(piece)
    return set(scopes(line)[start : start + len(piece)])


@pytest.mark.parametrize(
    ("line", "piece", "scope"),
    [
        ("func.func private @f(%x: tensor<4xf32>)", "@f", "entity.name.function.mlir"),
        ("func.func private @f(%x: tensor<4xf32>)", "func.func", "keyword.declaration.function.mlir"),
        ("func.func private @f(%x: tensor<4xf32>)", "f32", "support.type.primitive.mlir"),
        ("func.func private @f(%x: tensor<4xf32>)", "4", "constant.numeric.dimension.mlir"),
        ("  %0 = edge.add.Tensor(%a, %b)", "edge.add.Tensor", "keyword.other.operation.mlir"),
        ("  %0 = edge.mean.dim(%a) {dim = array<i64: 1>}", "dim =", None),
        ("  %0:2 = \"a.b\"(%1#1) : (i1)", "%1#1", "variable.other.mlir"),
        ('  x = "a \\" // b" // c', '"a \\" // b"', None),
        ('  x = "a // b"  // c', "// c", "comment.line.double-slash.mlir"),
        ("// RUN: xir-opt %s", "RUN", "keyword.other.lit.mlir"),
        ("// CHECK-NEXT: %[[A:.*]] =", "CHECK-NEXT", "keyword.other.filecheck.mlir"),
        ("// CHECK-NEXT: %[[A:.*]] =", "[[A:.*]]", "variable.other.filecheck.mlir"),
        ("// expected-error @+1 {{x}}", "expected-error @+1", "keyword.other.expected.mlir"),
        ("// -----", "// -----", "keyword.control.split.mlir"),
        ("#loc = loc(\"a\":1:2)", "#loc", "entity.name.type.alias.mlir"),
        ("!t = tensor<?x3xi8>", "!t", "entity.name.type.alias.mlir"),
        ("%x: tensor<?x3x!quant.uniform<i8:f32, 0.5>>", "!quant.uniform", "support.type.dialect.mlir"),
        ("^bb0(%x: f32):", "^bb0", "entity.name.label.mlir"),
        ("value = dense<0x7F800000> : f32", "0x7F800000", "constant.numeric.hex.mlir"),
        ("eps = -1.5e-05 : f64", "-1.5e-05", "constant.numeric.float.mlir"),
        ("transposed = false", "false", "constant.language.mlir"),
        ("func.return %0 : i1", "func.return", "keyword.control.return.mlir"),
    ],
)  # fmt: skip
def test_a_piece_has_its_color(line: str, piece: str, scope: str | None) -> None:
    if scope is not None:
        assert scope_of(line, piece) == {scope}
    elif piece.startswith('"'):
        assert scope_of(line, piece) == {"string.quoted.double.mlir", "constant.character.escape.mlir"}
    else:
        assert scope_of(line, "dim =") >= {"variable.other.property.mlir"}


def test_every_op_is_colored_as_one() -> None:
    known = {"keyword.other.operation.mlir", "keyword.control.return.mlir", "keyword.declaration.function.mlir"}
    assert [name for name in ops() if not scope_of(f"  %0 = {name} %1", name) <= known] == []


EXPECTED = {
    Kind.PERCENT_IDENT: "variable.other.",
    Kind.CARET_IDENT: "entity.name.label.",
    Kind.AT_IDENT: "entity.name.function.",
}


@pytest.mark.parametrize("name", ["transforms/fuse-conv-relu", "transforms/plan-memory", "dialects/xnnpack/ops"])
def test_names_in_whole_files_are_colored(name: str) -> None:
    text = (ROOT / "test/lit" / f"{name}.mlir").read_text(encoding="utf-8")
    painted = [scope for line in text.split("\n") for scope in (*scopes(line), "")]
    checked = [token for token in Tokens(text) if token.kind in EXPECTED]
    assert len(checked) > 50
    assert [token for token in checked if not painted[token.start].startswith(EXPECTED[token.kind])] == []


def test_the_extension_names_files_that_there_are() -> None:
    (language,) = MANIFEST["contributes"]["languages"]
    assert GRAMMAR_ENTRY["scopeName"] == GRAMMAR["scopeName"]
    assert GRAMMAR_ENTRY["language"] == language["id"] == "mlir"
    assert (EXTENSION / MANIFEST["main"]).is_file()
    assert json.loads((EXTENSION / language["configuration"]).read_text(encoding="utf-8"))["comments"]
