"""The lit tests themselves: each checks something, and what should be tested is."""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from xir.dialects.registry import DIALECTS
from xir.ir.passes import XirPass
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import LEVELS, PASSES, class_name, describe, passes_of

ROOT = Path(__file__).parents[2]
LIT = ROOT / "test" / "lit"
TESTS = sorted(path for path in LIT.rglob("*.mlir") if "Inputs" not in path.parts)

RUN = re.compile(r"^\s*//\s*RUN:\s*(.*)$", re.MULTILINE)
CHECK = re.compile(r"//\s*([A-Z][A-Z0-9_-]*?)(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?:\s")
CHECKS_SOMETHING = re.compile(r"\bfilecheck\b|--verify-diagnostics|(?:^|&&|\|)\s*(?:cmp|diff|test)\b")
NOT_PREFIXES = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "COM", "TODO", "NOTE"}


def run_lines(path: Path) -> list[str]:
    lines: list[str] = []
    for line in RUN.findall(path.read_text(encoding="utf-8")):
        if lines and lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1] + line
        else:
            lines.append(line)
    return lines


def asked_prefixes(path: Path) -> set[str]:
    """The prefixes that the RUN lines' filecheck calls look for."""
    asked: set[str] = set()
    for line in run_lines(path):
        for call in re.findall(r"filecheck\b([^|]*)", line):
            given = re.findall(r"--?check-prefix(?:es)?[= ]([\w,-]+)", call)
            asked |= {prefix for group in given for prefix in group.split(",")} or {"CHECK"}
    return asked


def wrong_with(path: Path) -> Iterator[str]:
    """What of a file checks nothing."""
    lines = run_lines(path)
    if not lines:
        yield "no RUN line"
    checking = [line for line in lines if CHECKS_SOMETHING.search(line)]
    looked_at = {name for line in checking for name in re.findall(r"%t\S*", line)}
    for line in lines:
        written = set(re.findall(r"(?:-o|>)\s*(%t\S*)", line))
        if not (line.startswith("rm ") or line in checking or written & looked_at):
            yield f"nothing looks at the result of: {line}"
    text = path.read_text(encoding="utf-8")
    written, asked = set(CHECK.findall(text)) - NOT_PREFIXES, asked_prefixes(path)
    yield from (f"no line has the prefix {prefix}" for prefix in sorted(asked - written))
    yield from (f"no RUN line reads the prefix {prefix}" for prefix in sorted(written - asked))
    expects = re.search(r"//\s*expected-(?:error|warning|remark|note)", text) is not None
    if expects and not any("--verify-diagnostics" in line for line in lines):
        yield "nothing matches what is expected"


def test_every_line_checks_something() -> None:
    assert TESTS
    assert [f"{path.relative_to(LIT)}: {problem}" for path in TESTS for problem in wrong_with(path)] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("func.func @f()", "no RUN line"),
        ("// RUN: xir-opt %s > %t\n", "nothing looks at the result of: xir-opt %s > %t"),
        ("// RUN: xir-opt %s | filecheck %s\n", "no line has the prefix CHECK"),
        ("// RUN: xir-opt %s | filecheck %s\n// CHECK: a\n// OTHER: b\n", "no RUN line reads the prefix OTHER"),
        ("// RUN: xir-opt %s | cmp - %t\n// expected-error @+1 {{a}}\n", "nothing matches what is expected"),
    ],
)
def test_what_checks_nothing_is_found(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(text, encoding="utf-8")
    assert [*wrong_with(tmp_path / "a.mlir")] == [problem]


def test_every_pass_file_holds_its_pass() -> None:
    files = [path.stem for level in LEVELS for path in (ROOT / "transforms" / level).glob("[a-z]*.py")]
    assert sorted(name.replace("-", "_") for name in PASSES) == sorted(files)


def test_a_pass_is_named_alike_everywhere_described_and_tested() -> None:
    for name in PASSES:
        cls, info, file = PASSES[name](), describe(name), name.replace("-", "_")
        assert issubclass(cls, XirPass), name
        assert (cls.name, cls.__name__) == (name, class_name(name))
        assert cls.__module__ in {f"xir.transforms.{level.replace('/', '.')}.{file}" for level in LEVELS}, name
        tests = [LIT / "transforms" / f"{name}.mlir", *(LIT / "transforms" / name).glob("*.mlir")]
        assert any(path.is_file() and f"--{name}" in path.read_text(encoding="utf-8") for path in tests), name
        assert info.summary, name
        assert info.summary == (inspect.getdoc(cls) or "").splitlines()[0], name
        fields = [field.name.replace("_", "-") for field in dataclasses.fields(cls)]
        assert [option.name for option in info.options] == fields, name


def test_a_pipeline_is_made_of_passes_and_has_its_own_name() -> None:
    assert PIPELINES.keys() & PASSES.keys() == set()
    assert [name for name in PIPELINES if not passes_of(name)] == []


def test_a_dialect_is_registered_under_its_name_and_has_a_good_and_an_invalid_case() -> None:
    assert {name: DIALECTS[name]().name for name in DIALECTS} == {name: name for name in DIALECTS}
    for dialect in ("builtin", *(DIALECTS.keys() - {"func"})):
        names = {path.name for path in (LIT / "dialects" / dialect).glob("*.mlir")}
        assert "invalid.mlir" in names, dialect
        assert names - {"invalid.mlir"}, dialect
