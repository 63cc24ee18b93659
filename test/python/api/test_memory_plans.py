"""`xir-aot --memory-plan`, what the report says of arenas, and what a lock says where one has grown."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.tools import Tool
from torch import Tensor

import xir
from xir.transforms.pte import plan_memory
from xir.transforms.pte.memory.placing import Lifetime

MODEL = """
import torch

class Sums(torch.nn.Module):
    def forward(self, x):
        y = torch.cumsum(x, 0)
        z = torch.cumsum(y, 1)
        return torch.cumsum(z, 0)

class Joined(Sums):
    def forward(self, x):
        y, z = torch.cumsum(x, 0), torch.cumsum(x, 1)
        return super().forward(torch.cat([y, z], 0))[:4]

def sums():
    return Sums(), (torch.rand(4, 8),)

def joined():
    return Joined(), (torch.rand(4, 8),)
"""


@pytest.fixture(autouse=True)
def model(folder: Path) -> None:
    (folder / "net.py").write_text(MODEL, encoding="utf-8")


def all_apart(lifetimes: Sequence[Lifetime]) -> list[int]:
    """A plan in which no tensors share bytes."""
    return [0, *accumulate(each.size for each in lifetimes)][: len(lifetimes)]


@pytest.fixture
def wasteful(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner is as bad as can be, and right."""
    monkeypatch.setattr(plan_memory, "place", all_apart)


def test_report(folder: Path, aot: Tool) -> None:
    """For machines; docs/memory_plans.md has the text."""
    aot("--model net.py:joined --report-json r.json")
    (arena,) = json.loads((folder / "r.json").read_text())["arenas"]
    alive = arena.pop("alive")
    assert arena == {
        "method": "forward", "bytes": 512, "lower_bound": 512, "bound_by": "peak", "instruction": 2,
        "op": "aten::cat.out", "file": str(folder / "net.py"), "line": 13,
    }  # fmt: skip
    tensors = [("tensor<8x8xf32>", 256, None), *2 * [("tensor<4x8xf32>", 128, None)]]
    assert [(each["type"], each["bytes"], each["role"]) for each in alive] == tensors


@pytest.mark.usefixtures("wasteful")
@pytest.mark.parametrize("delegate", ["--delegate", "--no-delegate"])
def test_exact(folder: Path, aot: Tool, delegate: str) -> None:
    """The solver's plan is at the bound, runs, and is the same each time."""
    files: list[bytes] = []
    for _ in range(2):
        out = aot(f"--model net.py:sums {delegate} --memory-plan exact --solver-seconds 5 -t")
        assert "forward: arena: 256 bytes, lower bound 256, gap 0.0%" in out.splitlines()
        assert aot.err == ""
        (file,) = folder.glob("*.pte")
        files.append(file.read_bytes())
    assert files[0] == files[1]


@pytest.mark.usefixtures("wasteful")
def test_greedy_above_the_bound(aot: Tool) -> None:
    assert (
        "forward: arena: 512 bytes, lower bound 256, gap 100.0%\n"
        "    --memory-plan exact asks a solver for a smaller one\n"
    ) in aot("--model net.py:sums --report")


@pytest.mark.usefixtures("wasteful")
def test_without_the_solver(folder: Path, aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    error = aot.refuse("--model net.py:sums --memory-plan exact")
    assert error.endswith("error: 'ortools' is not installed: a smaller memory plan needs xir[solver]\n")
    assert not list(folder.glob("*.pte"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--memory-plan best", "argument --memory-plan: invalid choice: 'best'"),
        ("--solver-seconds 1", "--solver-seconds limits the solver of --memory-plan exact: give that as well"),
        ("--memory-plan exact --solver-seconds 0", "--solver-seconds takes a number above 0, got 0"),
        ("--memory-plan exact --solver-seconds nan", "--solver-seconds takes a number above 0, got nan"),
        ("--memory-plan exact --solver-seconds x", "argument --solver-seconds: invalid float value: 'x'"),
    ],
)
def test_wrong_options(aot: Tool, arguments: str, message: str) -> None:
    assert aot.refuse(f"--model net.py:sums {arguments}").startswith(f"xir-aot: error: {message}")


def test_lock_says_what_is_alive(aot: Tool) -> None:
    aot("--model net.py:sums --lock net.lock")
    aot("--model net.py:joined --lock net.lock", code=1)
    (line,) = [line for line in aot.err.splitlines() if ": error: arena " in line]
    assert line.endswith(
        "arena forward 1: 256 → 512 (+100.0%); most is alive at instruction 2, aten::cat.out, net.py:13: "
        "256 bytes of f32[8x8] (net.py:13); 128 bytes of f32[4x8] (net.py:12); 128 bytes of f32[4x8] (net.py:12)"
    )


def counted(m: Any, x: Tensor) -> Tensor:
    m.total += x
    return m.total * 2


@pytest.mark.usefixtures("folder")
def test_lock_says_which_state_is_new() -> None:
    def program(size: int) -> xir.ExecutorchProgram:
        model = Calling(counted, total=torch.zeros(size))
        return xir.to_edge(torch.export.export(model, (torch.rand(size),))).to_executorch()

    program(8).save("a.pte", contract=xir.Contract("a.lock"))
    with pytest.raises(xir.BrokenContractError, match=r"arena forward 2: 32 → 64; by total \(f32\[16\]\)"):
        program(16).save("a.pte", contract=xir.Contract("a.lock"))
