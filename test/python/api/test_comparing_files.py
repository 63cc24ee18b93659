"""What `xir-aot model.pte -o better.pte` compares before it writes, on what inputs and where, and what it tells."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any

import numpy as np
import pytest
import torch
from reference import stock
from reference.modules import Function
from reference.runtimes import load_stock
from reference.tools import Tool
from torch import Tensor, nn
from torch._higher_order_ops.while_loop import while_loop

import xir
from xir.runtime import same_results, stock_results
from xir.runtime.same_results import MethodCall, sameness

X = torch.randn(2, 4)


def program(function: Callable[[Tensor], Tensor], names: tuple[str, ...] = ("forward",)) -> xir.ExecutorchProgram:
    exported = {name: torch.export.export(Function(function), (X,)) for name in names}
    return xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()


@pytest.fixture(autouse=True)
def old(folder: Path) -> None:
    program(torch.relu).save("old.pte")


def becomes(monkeypatch: pytest.MonkeyPatch, function: Callable[[Tensor], Tensor]) -> None:
    """Let the old file become another one, in place of a pass that is wrong."""
    other = program(function)
    monkeypatch.setattr(xir.ExecutorchProgram, "optimized", lambda *_args, **_options: other)


def test_the_table_and_both_runtimes(aot: Tool) -> None:
    np.savez("one.npz", x=X.numpy())
    torch.save([(X,), (2 * X,)], "two.pt")
    torch.save({"forward": X}, "named.pt")
    out = aot("old.pte -o new.pte --inputs one.npz --inputs two.pt --inputs named.pt --cpu zen4")
    assert "both on random inputs and 4 calls of --inputs\n" in out
    assert "new.pte: compared in xir's runtime and in stock ExecuTorch's\n" in out
    rows = [re.split(r" {2,}", line.strip()) for line in out.splitlines() if line.startswith("    ")]
    assert rows[0] == ["before", "after"]
    assert [row[0] for row in rows[1:]] == [
        "bytes",
        "delegates",
        "kernel calls outside",
        "arenas",
        "tensors in a delegate",
        "predicted, AMD EPYC, Zen 4",
        "measured, one thread",
    ]
    assert rows[2:4] == [["delegates", "1", "1"], ["kernel calls outside", "0", "0"]]


def not_written(aot: Tool, command: str, message: str) -> None:
    """The command ends with a message, and without a file."""
    assert aot.refuse(f"old.pte -o new.pte {command}").startswith(f"xir-aot: error: {message}")
    assert not Path("new.pte").exists()


def test_inputs_of_the_user_find_what_drawn_ones_do_not(aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    becomes(monkeypatch, lambda x: torch.clamp(x, 0, 100))
    aot("old.pte -o new.pte --no-stock")
    Path("new.pte").unlink()
    torch.save([[X], [torch.full((2, 4), 200.0)]], "large.pt")
    differs = "old.pte: outputs of 'forward' in call 2 of large.pt would differ by 5.0e-01"
    not_written(aot, "--no-stock --inputs large.pt", differs)


def test_a_file_that_stock_would_refuse_is_not_written(aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    becomes(monkeypatch, lambda x: torch.relu(x) + torch.erfinv(0 * x))
    not_written(aot, "", "old.pte: stock ExecuTorch runs the old file, and would not run this: ")
    assert aot.err.endswith(": nothing is written\n")
    aot("old.pte -o new.pte --no-stock")


def test_results_in_stock_count(aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(files: object, calls: stock_results.Calls, max_seconds: float | None) -> list[list[list[Tensor]]]:
        return [[[X] for _ in calls], [[X + 1] for _ in calls]]

    monkeypatch.setattr(same_results, "stock_results", other)
    not_written(aot, "", "old.pte: outputs of 'forward' in call 1 in stock ExecuTorch would differ by")


def test_without_stock(aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock_results, "is_installed", lambda: False)
    said = "new.pte: compared in xir's runtime alone; stock ExecuTorch's: it is not installed\n"
    assert said in aot("old.pte -o new.pte")


def test_a_kernel_that_the_runtime_lacks(aot: Tool) -> None:
    """A command's user cannot call what Python's can to allow a kernel."""
    exported = torch.export.export(nn.EmbeddingBag(9, 4), (torch.zeros(2, 3, dtype=torch.long),))
    Path("old.pte").write_bytes(stock.compiled(exported, delegates=False).buffer)
    said = "'forward' calls 'aten::_embedding_bag.out', which xir's runtime lacks, so no other file can be compared"
    not_written(aot, "", f"old.pte: {said} with it: nothing is written")


def test_a_method_that_runs_on_no_drawn_inputs(aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_results, "drawn_inputs", lambda *_, **_options: [torch.zeros(3)])
    not_written(aot, "", "old.pte does not run: 'forward' on random inputs: ")
    torch.save(X, "x.pt")
    assert "both on 1 call of --inputs\n" in aot("old.pte -o new.pte --no-stock --inputs x.pt")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("none.pt", None, "[Errno 2] No such file or directory: 'none.pt'"),
        ("x.txt", b"x", "--inputs takes .npz and .pt files, got 'x.txt'"),
        ("junk.pt", b"zz", "--inputs: junk.pt is no .pt file of tensors alone: write one with torch.save"),
        ("junk.npz", b"zz", "--inputs: junk.npz is no .npz file of tensors: write one with numpy.savez"),
        ("cut.npz", b"PK\3\4zz", "--inputs: cut.npz is no .npz file of tensors: write one with numpy.savez"),
        ("empty.pt", {}, "--inputs: empty.pt has no call"),
        ("other.pt", {"other": X}, "--inputs: other.pt is for 'other', and the program has forward"),
        (
            "shape.pt",
            torch.zeros(3),
            "old.pte: it does not run 'forward' in call 1 of shape.pt: input 0 has shape [2, 4]",
        ),
        ("many.pt", [X, X], "old.pte: it does not run 'forward' in call 1 of many.pt: method 'forward' takes 1 inputs"),
        ("what.pt", [["text"]], "old.pte: it does not run 'forward' in call 1 of what.pt: "),
    ],
)
def test_bad_inputs(aot: Tool, name: str, value: object, message: str) -> None:
    if isinstance(value, bytes):
        Path(name).write_bytes(value)
    elif value is not None:
        torch.save(value, name)
    not_written(aot, f"--inputs {name}", message)


def test_inputs_without_a_name_of_several_methods(aot: Tool) -> None:
    program(torch.relu, ("encode", "decode")).save("old.pte")
    torch.save(X, "x.pt")
    not_written(aot, "--inputs x.pt", "--inputs: x.pt does not say for which of encode, decode it is")
    torch.save({"decode": X}, "x.pt")
    assert "random inputs and 1 call of --inputs" in aot("old.pte -o new.pte --no-stock --inputs x.pt")


def process_that_ends(monkeypatch: pytest.MonkeyPatch, running: str | None, results: object = None) -> None:
    """Let stock's process end by a signal, without a word: it had written which file it ran, and perhaps results."""

    def crashed(command: list[str], **_: object) -> CompletedProcess[str]:
        made, failed = map(Path, command[5:7])
        if running is not None:
            failed.with_name(stock_results.RUNNING).write_text(running)
        if results is not None:
            torch.save(results, made)
        return CompletedProcess(command, -11, "", "")

    monkeypatch.setattr(stock_results.subprocess, "run", crashed)


FILES: list[stock_results.FileWithData] = [(Path("old.pte"), ()), (Path("new.pte"), ())]


def test_a_process_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """How it ends when all has run is no file's fault."""
    for running, index in ((None, None), ("0", 0), ("1", 1)):
        process_that_ends(monkeypatch, running)
        with pytest.raises(stock_results.StockError, match=r"^its process ended with exit code -11$") as error:
            stock_results.stock_results(FILES, [])
        assert error.value.index == index
    found = [[[X]], [[X + 1]]]
    process_that_ends(monkeypatch, "", found)
    torch.testing.assert_close(stock_results.stock_results(FILES, []), found)


def test_a_file_that_takes_stock_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is ended, whatever it had begun."""

    def endless(command: list[str], *, timeout: float, **_: object) -> CompletedProcess[str]:
        assert timeout == 5
        Path(command[6]).with_name(stock_results.RUNNING).write_text("1")
        raise TimeoutExpired(command, timeout)

    monkeypatch.setattr(stock_results.subprocess, "run", endless)
    with pytest.raises(stock_results.StockError, match=r"^it took longer than 5 seconds$") as error:
        stock_results.stock_results(FILES, [], 5)
    assert error.value.index == 1


def test_a_file_that_loops_is_not_compared_for_hours(aot: Tool) -> None:
    def looped(x: Tensor) -> Tensor:
        return while_loop(lambda i, x: i < 1_000_000_000, lambda i, x: (i + 1, x.sin()), (torch.tensor(0), x))[1]

    xir.to_edge(torch.export.export(Function(looped), (X,))).to_executorch().save("old.pte")
    began = time.monotonic()
    said = aot.refuse("old.pte -o new.pte --no-stock --max-seconds 0.5")
    assert "old.pte does not run: 'forward' on random inputs: " in said
    assert "stopped after 0.5 seconds" in said
    assert time.monotonic() - began < 20
    assert not Path("new.pte").exists()
    for wrong in ("-1", "nan", "inf"):
        assert "--max-seconds must be" in aot.refuse(f"old.pte -o new.pte --max-seconds={wrong}")


def test_an_old_file_that_crashes_stock(aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    process_that_ends(monkeypatch, "0")
    assert (
        "new.pte: compared in xir's runtime alone; stock ExecuTorch's: it does not run the old file, "
        "its process ended with exit code -11\n"
    ) in aot("old.pte -o new.pte")


def in_this_process(files: Sequence[stock_results.FileWithData], calls: Any, _: object) -> list[list[list[Tensor]]]:
    """What stock's process, which takes seconds to start, gives."""
    return [[load_stock(path).forward(inputs) for _, inputs in calls] for path, _ in files]


@pytest.mark.usefixtures("folder")
def test_a_result_that_is_no_number_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever later calls and other methods differ by."""
    monkeypatch.setattr(same_results, "stock_results", in_this_process)
    program(lambda x: x.exp()).save("old.pte")
    program(lambda x: torch.where(x > 5, torch.nan, x.exp())).save("new.pte")
    calls = [MethodCall("forward", [torch.full((2, 4), each)], f"call {each:g}") for each in (6.0, 1.0, 2.0)]
    for in_stock in (False, True):
        found = sameness(Path("old.pte"), Path("new.pte"), calls, in_stock=in_stock)
        assert (math.isnan(found.difference), found.where) == (True, "outputs of 'forward' in call 6")
