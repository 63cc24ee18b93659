"""`xir-translate --pt2-to-mlir`, which needs torch; the other directions are tested in test/lit/tools/xir-translate."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import torch

from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.verifier import verify
from xir.tools.xir_translate import main


@pytest.fixture(scope="module")
def pt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved program with weights."""
    path = tmp_path_factory.mktemp("pt2") / "linear.pt2"
    torch.export.save(torch.export.export(torch.nn.Linear(4, 8), (torch.randn(2, 4),)), path)
    return path


def test_a_file_becomes_edge_ops(pt2: Path, tmp_path: Path):
    output = tmp_path / "linear.mlir"
    assert main(["--pt2-to-mlir", str(pt2), "--print-resources", "-o", str(output)]) == 0
    ctx = XirContext()
    module = parse_module(ctx, output.read_text())
    verify(module)
    assert [op.name for op in module.walk()][2:] == ["edge.constant", "edge.constant", "edge.linear", "func.return"]
    assert sorted(ctx.blobs.nbytes(key) for key in ctx.blobs) == [8 * 4, 8 * 4 * 4]


def test_standard_input(pt2: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pt2.read_bytes())))
    assert main(["--pt2-to-mlir"]) == 0
    assert "edge.linear" in capfd.readouterr().out


def test_errors(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    missing, text, output = tmp_path / "missing.pt2", tmp_path / "text.pt2", tmp_path / "out.mlir"
    text.write_text("no archive")
    for path, message in ((missing, "no such file\n"), (text, "not a .pt2 file")):
        assert main(["--pt2-to-mlir", str(path), "-o", str(output)]) == 1
        assert capfd.readouterr().err.startswith(f"{path}:1: error: {message}")
        assert not output.exists()
