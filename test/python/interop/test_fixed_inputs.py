"""None, numbers and strings among a program's inputs, which files have in their places, as stock ExecuTorch's have."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from executorch.exir import to_edge as stock_to_edge
from reference.modules import Calling
from reference.runtimes import load_stock
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves

import xir
from xir.evaluate import NumericsChecker
from xir.evaluate.imported import check_import
from xir.runtime import Method, Runtime, XirRuntimeError
from xir.runtime.agreement import agreement

RUNNER = Path(sys.prefix) / "bin" / "xnn_executor_runner"


@pytest.fixture(scope="module")
def model() -> nn.Module:
    """What libraries' models take: absent masks, switches and numbers, by position and by name."""

    def forward(
        m: Any, x: Tensor, mask: Tensor | None, times: int, flag: bool, *, late: dict[str, Any], scale: float = 1.0
    ) -> tuple[Tensor, None]:
        y = m.layer(x) * times * scale
        y = y if mask is None else y + mask
        return (y.relu() if flag else y) - late["by"], None

    return Calling(forward, layer=nn.Linear(4, 3)).eval()


@pytest.fixture(scope="module")
def program(model: nn.Module) -> ExportedProgram:
    args = torch.randn(2, 4), None, 3, True
    kwargs = {"scale": 0.25, "late": {"by": torch.randn(3), "unused": None}}
    return torch.export.export(model, args, kwargs)


def leaves(program: ExportedProgram) -> list[Any]:
    return tree_leaves(program.example_inputs)


@pytest.mark.parametrize("delegate", [True, False])
def test_in_their_places(model: nn.Module, program: ExportedProgram, delegate: bool) -> None:
    """The same leaves for our runtime, for stock's, and for the file that stock makes."""
    edge = xir.to_edge(program)
    file = (edge.to_backend(xir.XnnpackPartitioner()) if delegate else edge).to_executorch().buffer
    made = stock_to_edge(program).to_executorch().buffer
    assert program.example_inputs is not None
    args, kwargs = program.example_inputs
    expected = model(*args, **kwargs)[0].detach()
    given = leaves(program)
    assert [type(each) for each in given] == [Tensor, type(None), int, bool, float, Tensor, type(None)]
    runs = [Runtime.get().load_program(each).load_method().execute for each in (file, made)]
    runs += [load_stock(each).forward for each in (file, made)]
    for run in runs:
        results = run(given)
        torch.testing.assert_close(results[0], expected, rtol=1e-5, atol=1e-6)
        assert results[1] is None
    metadata = [Runtime.get().load_program(each).metadata() for each in (file, made)]
    assert metadata[0].inputs == metadata[1].inputs
    check_import(program)


REFUSED: list[tuple[int, Any, str]] = [
    (1, torch.zeros(3), "input 1 is a none, and a Tensor was given"),
    (1, 3, "input 1 is a none, and a int was given"),
    (2, 4, "input 2 was fixed at 3 when the model was exported, and 4 was given"),
    (2, None, "input 2 is a int, and a none was given"),
    (2, "3", "input 2 is a int, and a string was given"),
    (3, False, "input 3 was fixed at 1 when the model was exported, and 0 was given"),
    (4, 0.5, "input 4 was fixed at 0.25 when the model was exported, and 0.5 was given"),
    (5, None, "input 5 is a tensor, and a NoneType was given"),
]


def test_others_are_refused(program: ExportedProgram) -> None:
    """In stock too, which says so by a number."""
    file = xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer
    method, stock = Runtime.get().load_program(file).load_method(), load_stock(file)
    for index, other, message in REFUSED:
        given = leaves(program)
        given[index] = other
        with pytest.raises(XirRuntimeError, match=message):
            method.execute(given)
        if not isinstance(other, str):  # of which stock's Python runtime takes none
            with pytest.raises(RuntimeError):
                stock.forward(given)


def test_the_runner_takes_tensors(model: nn.Module, program: ExportedProgram, tmp_path: Path) -> None:
    file, given = tmp_path / "m.pte", [each for each in leaves(program) if isinstance(each, Tensor)]
    xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch().save(file)
    for index, tensor in enumerate(given):
        np.save(tmp_path / f"{index}.npy", tensor.numpy())

    def run(options: str) -> subprocess.CompletedProcess[str]:
        command = [RUNNER, "--model_path", "m.pte", *shlex.split(options)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("--inputs 0.npy,1.npy --output-dir out").returncode == 0
    assert program.example_inputs is not None
    args, kwargs = program.example_inputs
    expected = model(*args, **kwargs)[0].detach().numpy()
    np.testing.assert_allclose(np.load(tmp_path / "out" / "output_0.npy"), expected, rtol=1e-5, atol=1e-6)
    assert "the method takes 2 tensors, and 1 files were given" in run("--inputs 0.npy").stderr
    assert agreement(file, program).difference < 1e-6


def method_of(function: Callable[..., Tensor], *inputs: Any) -> Method:
    program = torch.export.export(Calling(function), inputs)
    return Runtime.get().load_program(xir.to_edge(program).to_executorch().buffer).load_method()


def test_strings() -> None:
    x = torch.randn(3)
    method = method_of(lambda m, x, mode: x.tanh() if mode == "tanh" else x.relu(), x, "tanh")
    torch.testing.assert_close(method.execute([x, "tanh"])[0], x.tanh())
    with pytest.raises(XirRuntimeError, match="was fixed at 'tanh' when the model was exported, and 'relu' was"):
        method.execute([x, "relu"])
    with pytest.raises(XirRuntimeError, match="input 1 is a string, and a none was given"):
        method.execute([x, None])


@pytest.mark.parametrize("k", [float("nan"), float("inf"), -0.0])
def test_numbers_at_the_edges(k: float) -> None:
    x = torch.ones(3)
    method = method_of(lambda m, x, k: x + 1 if k != k else x * k, x, k)
    assert torch.equal(method.execute([x, k])[0], x + 1 if k != k else x * k)
    with pytest.raises(XirRuntimeError, match="was fixed at"):
        method.execute([x, 2.0])


def test_passes_are_checked_on_them(program: ExportedProgram) -> None:
    for checker in (NumericsChecker(leaves(program)), NumericsChecker()):  # without inputs they are drawn
        xir.to_edge(program).to_backend(xir.XnnpackPartitioner(), numerics=checker).to_executorch(numerics=checker)
        assert checker.errors
        assert all(error < 1e-6 for _, error in checker.errors)
