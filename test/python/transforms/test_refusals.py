"""No rule, and no reason why an op is not delegated, goes without a lit test."""

import ast
import re
from pathlib import Path

import pytest

from xir.transforms.xnnpack.legalizations import RULES

ROOT = Path(__file__).parents[3]
PARTITION = ("xnnpack/partition_xnnpack.py", "delegate/_op_filter.py", "xnnpack/_stays_float.py")
SOURCES = [
    *(ROOT / "transforms" / name for name in PARTITION),
    *sorted((ROOT / "transforms" / "analysis").glob("*.py")),
    *sorted((ROOT / "transforms" / "xnnpack" / "legalizations").glob("*.py")),
]

UNREPORTED = {"its saved statistics are used"}
"""Reasons that only `fold-batch-norm` meets, which has none to report: an op whose saved statistics, which are empty,
are used is refused for having a result without elements."""


def literal_parts(reason: ast.expr) -> list[str]:
    """What of a reason's text is written in the source: of an f-string the parts between the braces."""
    parts = reason.values if isinstance(reason, ast.JoinedStr) else [reason]
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def reasons() -> list[tuple[str, list[str]]]:
    """(file, parts) of every RefusalError in the sources that has a text of its own."""
    found: list[tuple[str, list[str]]] = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "RefusalError":
                parts = literal_parts(node.args[0])
                if parts and not UNREPORTED & set(parts):
                    found.append((path.name, parts))
    return found


EXPECTED = "\n".join(
    match
    for path in sorted((ROOT / "test" / "lit").rglob("*.mlir"))
    for match in re.findall(r"expected-remark.*\{\{(.*)\}\}|xir\.reason = \"(.*?)\"", path.read_text(encoding="utf-8"))
    for match in match
)


@pytest.mark.parametrize(("file", "parts"), reasons(), ids=lambda value: value if isinstance(value, str) else value[0])
def test_a_lit_test_expects_the_reason(file: str, parts: list[str]) -> None:
    assert re.search(".*".join(map(re.escape, parts)), EXPECTED)


LEGALIZED = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "test" / "lit").rglob("*.mlir")))


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_lit_test_shows_what_the_rule_builds(name: str) -> None:
    assert re.search(rf"= {re.escape(name)}[( ]", LEGALIZED)
