"""The plugin against the xir that is installed: its pass, its op in both runtimes, and what the tools say of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from xir_softclip.torch_op import softclip

import xir

HERE = Path(__file__).parent
LIT = HERE / "drop-wider-softclip.mlir"


class Model(torch.nn.Module):
    def __init__(self, limit: float) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.limit = limit

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softclip(self.linear(x), self.limit)


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A command with the tools of this interpreter."""
    tools = {
        "xir-opt": f"{sys.executable} -m xir.tools.xir_opt",
        "filecheck": f"{sys.executable} -c 'import sys; from filecheck.main import main; sys.exit(main())'",
    }
    for name, command in tools.items():
        line = re.sub(rf"(?<![\w-]){name}(?![\w-])", lambda _, command=command: command, line)
    return subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("line", re.findall(r"// RUN: (.*)", LIT.read_text(encoding="utf-8")))
def test_lit(line: str) -> None:
    done = shell(line.replace("%s", str(LIT)))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tools_list_it() -> None:
    listing = shell("xir-opt --list-passes").stdout
    assert "--drop-wider-softclip\n      Drop the wider of two soft clips in a row.\n" in listing
    assert "ratio=<float> (default: 10.0): How much wider the other limit has to be." in listing
    assert "--delegate-softclip\n      drop-wider-softclip,delegate\n" in listing


@pytest.mark.parametrize("delegated", [True, False])
def test_the_op_in_both_runtimes(delegated: bool, tmp_path: Path) -> None:
    model, x = Model(2.5).eval(), torch.randn(2, 4)
    program = xir.to_edge(torch.export.export(model, (x,)))
    if delegated:
        program = program.to_backend(xir.XnnpackPartitioner())
        assert [op.name for op in program.module.walk() if op.name.startswith("edge.")] == []
    file = program.to_executorch().buffer
    (ours,) = xir.runtime.Runtime.get().load_program(file).load_method("forward").execute([x])
    torch.testing.assert_close(ours, model(x), rtol=1e-5, atol=1e-5)
    pybindings = pytest.importorskip("executorch.extension.pybindings.portable_lib")
    (stock,) = pybindings._load_for_executorch_from_buffer(file).forward([x])
    torch.testing.assert_close(stock, model(x), rtol=1e-5, atol=1e-5)


def test_its_refusal_is_a_remark() -> None:
    program = xir.to_edge(torch.export.export(Model(-1.0).eval(), (torch.randn(2, 4),)))
    (remark,) = program.to_backend(xir.XnnpackPartitioner()).remarks
    assert "edge.softclip.softclip not delegated: its limit is -1 (give a limit above zero)" in str(remark)
