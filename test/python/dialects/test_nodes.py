"""The places of a node: leaving one out fails here, by the name of what was forgotten, if no build fails before."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest

from xir.dialects import xnnpack
from xir.dialects.xnnpack import NODE_OPS, ArgMaxPooling2dOp, NodeOp

ROOT = Path(__file__).parents[3]

ONLY_READ = {ArgMaxPooling2dOp}
"""Nodes of other compilers' files: no rule builds them, since ATen's op gives indices of another type."""


def lacking(what: str, ops: Iterable[type[NodeOp]], *patterns: str) -> list[str]:
    """The ops that the files of `patterns` do not name, by name or class as `what` says."""
    text = "\n".join(path.read_text(encoding="utf-8") for each in patterns for path in sorted(ROOT.glob(each)))
    words = {op: op.name if what == "name" else f"xnnpack.{op.__name__}" for op in ops}
    return [
        f"{op.name}: not in {', '.join(patterns)}" for op in ops if not re.search(rf"{re.escape(words[op])}\b", text)
    ]


def test_no_node_is_forgotten(generator: ModuleType) -> None:
    assert generator.forgotten() == []


def test_a_forgotten_node_is_named(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "NODE_OPS", NODE_OPS[1:])
    monkeypatch.setattr("sys.argv", ["generate_wire.py", "--check"])
    with pytest.raises(SystemExit, match="NODE_OPS lacks UnaryOp"):
        generator.main()


def test_a_node_without_a_form_in_the_file_is_named(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "forgotten", list)
    monkeypatch.setattr(generator, "NODE_OPS", (*NODE_OPS, type("FormlessOp", (NodeOp,), {})))
    monkeypatch.setattr("sys.argv", ["generate_wire.py"])
    with pytest.raises(SystemExit, match="without a form in the file, WIRE: FormlessOp"):
        generator.main()


def test_nodes_are_public() -> None:
    assert [op.__name__ for op in NODE_OPS if op.__name__ not in xnnpack.__all__] == []


def test_lit_shows_syntax_and_errors() -> None:
    """A case for the syntax of each node, one for what its verifier refuses."""
    folder = "test/lit/dialects/xnnpack"
    for file in ("ops", "invalid"):
        assert lacking("name", NODE_OPS, f"{folder}/*{file}.mlir", f"{folder}/quantized.mlir") == []


def test_something_builds_each() -> None:
    """A rule or a pass, and lit shows the result."""
    built = [op for op in NODE_OPS if op not in ONLY_READ]
    assert lacking("class", built, "transforms/**/*.py") == []
    assert lacking("name", built, "test/lit/legalizations/*.mlir", "test/lit/transforms/**/*.mlir") == []


def test_the_reference_computes_each() -> None:
    """The oracle of the rules' tests."""
    assert lacking("class", NODE_OPS, "xir/evaluate/nodes.py") == []
