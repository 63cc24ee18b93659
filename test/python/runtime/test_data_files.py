"""Weights in `.ptd` files that stock ExecuTorch wrote, in both runtimes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from reference.runtimes import load_stock

from xir.runtime import Runtime, XirRuntimeError

GOLDEN = Path(__file__).parents[3] / "backend_cpp" / "tests" / "data"
RUNNER = Path(sys.executable).parent / "xnn_executor_runner"


@pytest.fixture(params=["stock_external_delegate", "stock_external_portable"])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_both_runtimes(name: str):
    program, data = GOLDEN / f"{name}.pte", GOLDEN / f"{name}.ptd"
    x = np.load(GOLDEN / f"{name}.input_0.npy")
    (ours,) = Runtime.get().load_program(program, data=[data]).load_method().execute([x])
    (stock,) = load_stock(program, data).forward([torch.from_numpy(x)])
    np.testing.assert_allclose(ours, stock.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours, np.load(GOLDEN / f"{name}.output_0.npy"), rtol=1e-5, atol=1e-6)


def test_the_runner(name: str, tmp_path: Path):
    command = [str(RUNNER), "--model_path", str(GOLDEN / f"{name}.pte"), "--iterations", "1"]
    command += ["--inputs", str(GOLDEN / f"{name}.input_0.npy"), "--output-dir", str(tmp_path)]
    without = subprocess.run(command, capture_output=True, text=True, check=False)
    assert without.returncode == 1
    assert f"error: '{GOLDEN / name}.pte': its weights are apart from it, and no .ptd file was given" in without.stderr
    assert without.stderr.endswith("; --data_path takes .ptd files\n")
    subprocess.run([*command, "--data_path", str(GOLDEN / f"{name}.ptd")], check=True)
    expected = np.load(GOLDEN / f"{name}.output_0.npy")
    np.testing.assert_allclose(np.load(tmp_path / "output_0.npy"), expected, rtol=1e-5, atol=1e-6)


def test_what_is_no_data_file(name: str, tmp_path: Path):
    other = tmp_path / "weights.ptd"
    other.write_bytes(b"no weights")
    with pytest.raises(XirRuntimeError, match=r"data file 0: not a \.ptd file"):
        Runtime.get().load_program(GOLDEN / f"{name}.pte", data=[other])
    with pytest.raises(XirRuntimeError, match="data file 0: cannot open"):
        Runtime.get().load_program(GOLDEN / f"{name}.pte", data=[tmp_path / "none.ptd"])
