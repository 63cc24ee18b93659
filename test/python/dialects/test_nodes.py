"""The places of a node: leaving one out fails here, by the name of what was forgotten, if no build fails before."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from xir.dialects import xnnpack
from xir.dialects.xnnpack import NODE_OPS, ArgMaxPooling2dOp, NodeOp

ROOT = Path(__file__).parents[3]

ONLY_READ = {ArgMaxPooling2dOp}
"""Nodes of other compilers' files: no rule builds them, since ATen's op gives indices of another type."""


def text_of(*patterns: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for each in patterns for path in sorted(ROOT.glob(each)))


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


@pytest.mark.parametrize("op", NODE_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("file", ["ops", "invalid"])
def test_lit_shows_its_syntax_and_errors(op: type[NodeOp], file: str) -> None:
    """A case for its syntax, one for what its verifier refuses."""
    text = text_of(f"test/lit/dialects/xnnpack/*{file}.mlir", "test/lit/dialects/xnnpack/quantized.mlir")
    assert re.search(rf"{re.escape(op.name)}\b", text), f"test/lit/dialects/xnnpack/*{file}.mlir lacks {op.name}"


@pytest.mark.parametrize("op", [op for op in NODE_OPS if op not in ONLY_READ], ids=lambda op: op.name)
def test_something_builds_it(op: type[NodeOp]) -> None:
    """A rule or a pass, and lit shows the result."""
    assert f"xnnpack.{op.__name__}" in text_of("transforms/**/*.py"), f"no rule or pass builds xnnpack.{op.__name__}"
    shown = text_of("test/lit/legalizations/*.mlir", "test/lit/transforms/**/*.mlir")
    assert re.search(rf"{re.escape(op.name)}\b", shown), f"no lit case shows what builds {op.name}"


@pytest.mark.parametrize("op", NODE_OPS, ids=lambda op: op.name)
def test_the_reference_computes_it(op: type[NodeOp]) -> None:
    """The oracle of the rules' tests."""
    path = "xir/evaluate/nodes.py"
    assert f"xnnpack.{op.__name__}" in text_of(path), f"{path} does not compute {op.name}"
