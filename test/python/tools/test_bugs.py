"""A bug of a pass or a tool is told as one: where it was, its traceback, and an exit code of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

import xir.tools.xir_aot
from xir.tools import xir_opt, xir_translate
from xir.transforms.registry import PASSES

PLUGIN = """
from dataclasses import dataclass
from xir.plugin import XirPass, register_pass

@register_pass
@dataclass(frozen=True)
class HasBugPass(XirPass):
    \"\"\"Fail at returns.\"\"\"

    def apply(self, ctx, op):
        for each in op.walk():
            if each.name == "func.return":
                raise ValueError("no such thing")
"""

Main = Callable[[Sequence[str]], int]


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "in.mlir"
    path.write_text("func.func @forward() {\n  func.return\n}\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("flags", [[], ["--verify-diagnostics"]])
def test_of_a_pass(
    flags: list[str],
    module: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugin, output = tmp_path / "bug.py", tmp_path / "out.mlir"
    plugin.write_text(PLUGIN, encoding="utf-8")
    try:
        arguments = [f"--load-plugin={plugin}", "--canonicalize", "--has-bug", *flags, "-o", str(output), module]
        assert xir_opt.main(arguments) == 70
    finally:
        PASSES.pop("has-bug", None)
    first, second, third, *rest = capsys.readouterr().err.splitlines()
    assert first == f"{plugin}:13: error: ValueError: no such thing"
    assert second == f"{module}:2:3: note: it ended pass 'has-bug' at op 'func.return'"
    assert third.startswith("This is a bug of the plugin, to be mended there")
    assert rest[0] == "Traceback (most recent call last):"
    assert any('bug.py", line 13, in apply' in line for line in rest)
    assert not output.exists()


def test_the_module_that_it_leaves_is_shown(module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = tmp_path / "bug.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    try:
        flags = ["--canonicalize", "--has-bug", "--mlir-print-ir-after-failure"]
        assert xir_opt.main([f"--load-plugin={plugin}", *flags, module]) == 70
    finally:
        PASSES.pop("has-bug", None)
    told = capsys.readouterr().err
    assert told.startswith("// -----// IR Dump After HasBug Failed (has-bug) //----- //\nbuiltin.module {\n")
    assert told.count("IR Dump") == 1


@pytest.mark.parametrize(
    ("main", "name", "arguments"),
    [
        (xir_opt.main, "xir-opt", ["-"]),
        (xir_translate.main, "xir-translate", ["--mlir-to-pte", "-"]),
        (xir.tools.xir_aot.main, "xir-aot", ["--model_name", "mv2"]),
    ],
)
def test_of_a_tool(
    main: Main, name: str, arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise KeyError("what no one asked for")

    monkeypatch.setattr(xir_opt, "_read", fail)
    monkeypatch.setattr(xir_translate, "_read_bytes", fail)
    monkeypatch.setattr(xir.tools.xir_aot, "load", fail)
    assert main(arguments) == 70
    told = capsys.readouterr().err
    assert told.startswith(f"{name}: internal error: KeyError: 'what no one asked for'\nThis is a bug in xir")
    assert "Traceback (most recent call last):" in told
