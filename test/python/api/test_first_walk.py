"""What somebody who has never used xir-aot gets wrong is one line: what, where, what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reference.tools import Tool

from xir.tools import xir_bisect, xir_reduce
from xir.tools.xir_aot import main

MINE = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x.foo()

model = torch.nn.Linear(3, 3)
def alone(): return model
def nothing(): pass
def sized(n): return torch.nn.Linear(n, n), (torch.rand(1, n),)
def a_class(): return Net, (torch.rand(1, 3),)
def typo(): return Net(), (torch.rand(1, 3),)
def bare(): return model, torch.rand(1, 3)
def fails():
    return torch.nn.Linear(3), None
def unbounded():
    return torch.nn.ReLU(), (torch.rand(2, 3),), ({0: torch.export.Dim("n")},)
"""
FILES = {
    "mine.py": MINE,
    "nosuffix": MINE,
    "script.py": "import torch\nmodel = torch.nn.Linear(3, 3)\nprint(model.nope)\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "misspelt.py": "import trnasformers\n",
    "syntax.py": "def f(:\n",
}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--model mine.py:alone", "tuple of example inputs, .*; it returns Linear$"),
        ("--model mine.py:nothing", "tuple of example inputs, .*; it returns NoneType$"),
        (
            "--model mine.py:sized",
            "'sized' is called without arguments: missing .* 'n'; give it a default$",
        ),
        ("--model mine.py:a_class", "'a_class' returns the class 'Net': return an instance of it$"),
        (
            "--model mine.py:typo",
            r"'typo' does not export: .* no attribute 'foo' \(at .*mine\.py:5: return x\.foo",
        ),
        ("--model mine.py:bare", "'bare' has to return its example inputs as a tuple"),
        ("--model mine.py:fails", r"'fails' failed: TypeError: .* \(.*mine\.py:15\)$"),
        ("--model mine.py:model", "'model' is a module: name a function that returns it"),
        ("--model mine.py:absent", "'mine.py' has no function 'absent'$"),
        ("--model absent.py:f", "'absent.py' is no Python file: there is no file of this name$"),
        ("--model nosuffix:alone", "'nosuffix' is no Python file: its name has to end in .py$"),
        ("--model script.py:f", r"'script\.py' failed: AttributeError: .* \(script\.py:3\)$"),
        ("--model exits.py:f", r"'exits\.py' ended Python \(3\): put .* below `if __name__ == .* \(exits\.py:2\)$"),
        ("--model misspelt.py:f", r"'misspelt\.py' imports 'trnasformers', which is not installed$"),
        ("--model syntax.py:f", r"'syntax\.py' failed: SyntaxError: invalid syntax \(syntax.py, line 1\)$"),
        (
            "-m mine.py:alone",
            "-m takes the name of a model of the zoo; .* it is --model mine.py:alone$",
        ),
        ("mine.py:alone", "'mine.py:alone' needs a flag before it: --model mine.py:alone$"),
        ("mine.py", r"'mine\.py' needs a flag before it: --model mine\.py:FACTORY$"),
        ("net.pt2", r"'net\.pt2' needs a flag before it: --pt2 net\.pt2$"),
    ],
)
@pytest.mark.parametrize("quantize", ["", " --quantize=static"], ids=["fp32", "int8"])
def test_a_mistake_is_one_line(
    arguments: str,
    quantize: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    error = Tool(main, capsys).refuse(arguments + quantize)
    assert error.startswith("xir-aot: error: ")
    assert error.count("\n") == 1
    assert re.search(told, error.strip()) is not None, error
    assert not list(tmp_path.glob("*.pte"))


def test_what_is_at_no_line_begins_with_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    error = Tool(main, capsys).refuse("--model mine.py:unbounded")
    assert error.startswith("mine.py:unbounded: input 'input': error: dimension 0 of input 'input' has no upper bound")
    for tool, arguments in ((xir_bisect.main, ""), (xir_reduce.main, "--wrong")):
        assert Tool(tool, capsys).refuse(f"mine.py:unbounded {arguments}") == error
