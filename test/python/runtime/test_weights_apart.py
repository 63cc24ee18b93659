"""Programs whose weights xir writes to a `.ptd` file: as good as whole ones, in both runtimes."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reference.modules import Calling
from reference.runtimes import load_stock

import xir
from xir.runtime import Runtime, XirMissingDataError
from xir.tools.xir_aot import main
from xir.tools.xir_translate import main as translate


def tied() -> torch.nn.Module:
    """An embedding, which a kernel reads, whose rows are the weights of the last layer too, and a table that is both a
    `[2, 8]` and a `[16]`."""

    def forward(m: Any, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = m.hidden(m.embedding(tokens)).relu() + m.flat
        return hidden @ m.embedding.weight.T, torch.nn.functional.embedding(tokens % 2, m.table)

    torch.manual_seed(0)
    layers = {"embedding": torch.nn.Embedding(40, 16), "hidden": torch.nn.Linear(16, 16)}
    return Calling(forward, flat=torch.arange(16.0), table=torch.arange(16.0).reshape(2, 8), **layers).eval()


TOKENS = torch.tensor([3, 0, 39, 7])
TIED, HIDDEN = (weight.detach().numpy().tobytes() for weight in tied().parameters() if weight.ndim == 2)


@pytest.fixture(scope="module", params=[True, False], ids=["delegate", "portable"])
def program(request: pytest.FixtureRequest) -> xir.ExecutorchProgram:
    edge = xir.to_edge(torch.export.export(tied(), (TOKENS,)))
    return (edge.to_backend(xir.XnnpackPartitioner()) if request.param else edge).to_executorch()


def test_both_runtimes(program: xir.ExecutorchProgram, tmp_path: Path) -> None:
    file, weights = tmp_path / "tied.pte", tmp_path / "tied.ptd"
    program.save(file, weights_apart=True)
    assert sorted(tmp_path.iterdir()) == [weights, file]
    assert program.buffer.count(TIED) == 1, "what a kernel reads and what a delegate does"
    first = weights.read_bytes()
    assert first.count(TIED) == 1
    assert not any(weight in file.read_bytes() for weight in (TIED, HIDDEN))
    program.save(file, weights_apart=True)
    assert weights.read_bytes() == first
    whole = Runtime.get().load_program(program.buffer).load_method().execute([TOKENS])
    ours = Runtime.get().load_program(file, data=[weights]).load_method().execute([TOKENS])
    programs = [load_stock(program.buffer), load_stock(file, weights)]
    stock = [[each.clone() for each in loaded.forward([TOKENS])] for loaded in programs]
    for expected, one, other, *found in zip(tied()(TOKENS), whole, ours, *stock, strict=True):
        assert torch.equal(other, one)
        for each in (other, *found):
            torch.testing.assert_close(each, expected, rtol=1e-5, atol=1e-5)


def test_xir_translate(program: xir.ExecutorchProgram, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A portable program keeps the keys of its weights. Graphs have constants, which are not there."""
    file, text, again = (tmp_path / f"tied.{suffix}" for suffix in ("pte", "mlir", "again"))
    program.save(file, weights_apart=True)
    code = translate(["--pte-to-mlir", str(file), "-o", str(text)])
    if b"XnnpackBackend" in file.read_bytes():
        assert (code, text.exists()) == (1, False)
        hint = "there is no named data "
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"{file}: error: {hint}")
        return
    assert code == 0
    assert translate(["--mlir-to-pte", str(text), "-o", str(again)]) == 0
    assert again.read_bytes() == file.read_bytes()


def test_weights_of_another_program_are_refused(program: xir.ExecutorchProgram, tmp_path: Path) -> None:
    file = tmp_path / "tied.pte"
    program.save(file, weights_apart=True)
    other = xir.to_edge(torch.export.export(torch.nn.Linear(16, 16).eval(), (torch.ones(1, 16),))).to_executorch()
    other.save(tmp_path / "other.pte", weights_apart=True)
    searched = {
        "its weights are apart from it, and no .ptd file was given: ": [],
        f"weights are apart from it that are not in '{tmp_path / 'other.ptd'}': ": [tmp_path / "other.ptd"],
    }
    for message, data in searched.items():
        whole = re.escape(f"'{file}': {message}") + ".* is missing; load_program takes .*data="
        with pytest.raises(XirMissingDataError, match=whole):
            Runtime.get().load_program(file, data=data)
    with pytest.raises(ValueError, match=r"name the program \.pte"):
        program.save(tmp_path / "tied.ptd", weights_apart=True)


@pytest.mark.parametrize("refused", [".pte", ".ptd"])
@pytest.mark.parametrize("before", [{}, {"tied.pte": b"old program", "tied.ptd": b"old weights"}], ids=["new", "again"])
def test_a_failing_rename_changes_nothing(
    program: xir.ExecutorchProgram,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: str,
    before: dict[str, bytes],
) -> None:
    """Not even what is there of an earlier export, whose program would lack its weights."""
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    replace, refusals = os.replace, list[str]()

    def refusing(source: str | Path, target: str | Path) -> None:
        # The first time; what was there before may come back.
        if Path(target).suffix == refused and not refusals:
            refusals.append(str(target))
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", refusing)
    with pytest.raises(PermissionError):
        program.save(tmp_path / "tied.pte", weights_apart=True)
    assert refusals
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_xir_aot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "net.py"
    source.write_text("import torch\n\n\ndef net():\n    return torch.nn.Linear(64, 64), (torch.ones(1, 64),)\n")
    folder = tmp_path / "new"
    assert main(["--model", f"{source}:net", "-d", "-t", "--weights-apart", "-o", str(folder)]) == 0
    (file,), (weights,) = folder.glob("*.pte"), folder.glob("*.ptd")
    assert weights == file.with_suffix(".ptd")
    assert weights.stat().st_size > 64 * 64 * 4
    assert f"of weights in {weights}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["stock_external_delegate", "stock_external_portable"])
def test_the_runner_takes_files_of_stock(name: str, tmp_path: Path):
    data = Path(__file__).parents[3] / "backend_cpp" / "tests" / "data"
    command = [str(Path(sys.executable).parent / "xnn_executor_runner"), "--model_path", f"{name}.pte"]
    command += ["--iterations", "1", "--inputs", f"{name}.input_0.npy", "--output-dir", str(tmp_path)]
    without = subprocess.run(command, cwd=data, capture_output=True, text=True, check=False)
    assert without.returncode == 1
    assert f"error: '{name}.pte': its weights are apart from it, and no .ptd file was given" in without.stderr
    assert without.stderr.endswith("; --data_path takes .ptd files\n")
    subprocess.run([*command, "--data_path", f"{name}.ptd"], cwd=data, check=True)
    expected = np.load(data / f"{name}.output_0.npy")
    np.testing.assert_allclose(np.load(tmp_path / "output_0.npy"), expected, rtol=1e-5, atol=1e-6)
    x = torch.from_numpy(np.load(data / f"{name}.input_0.npy"))
    (ours,) = Runtime.get().load_program(data / f"{name}.pte", data=[data / f"{name}.ptd"]).load_method().execute([x])
    (stock,) = load_stock(data / f"{name}.pte", data / f"{name}.ptd").forward([x])
    torch.testing.assert_close(ours, stock, rtol=1e-5, atol=1e-6)
