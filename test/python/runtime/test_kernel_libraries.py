"""Kernels in shared libraries, loaded by Python and by the runner, for an operator that torch knows from its user."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from reference.kernel_library import BACKEND, build_kernel_library
from reference.modules import Function

import xir
from xir.runtime import Runtime, XirRuntimeError

RUNNER = Path(sys.executable).parent / "xnn_executor_runner"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's library, built as an application would."""
    path = tmp_path_factory.mktemp("kernels") / "libaxpy.so"
    build_kernel_library(BACKEND / "examples/kernels/axpy.cc", path)
    return path


@pytest.fixture(scope="module")
def program() -> Iterator[bytes]:
    """A program whose middle is the operator demo::axpy."""
    with torch.library._scoped_library("demo", "FRAGMENT") as demo:
        demo.define("axpy(Tensor x, Tensor y, float alpha) -> Tensor")
        demo.impl("axpy", lambda x, y, alpha: alpha * x + y, "CompositeExplicitAutograd")
        torch.library.register_fake("demo::axpy", lambda x, y, alpha: torch.empty_like(x), lib=demo)
        scaled = Function(lambda x, y: torch.ops.demo.axpy(x.relu(), y, 2.0).neg())
        exported = torch.export.export(scaled, (torch.randn(40_000), torch.randn(40_000)))
        lowered = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()
        assert lowered.kernel_names == ["demo::axpy"]
        yield lowered.buffer


def inputs() -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(40_000, dtype=np.float32) for _ in range(2)]


@pytest.mark.parametrize("threads", [1, 2])
def test_python_loads_kernels(library: Path, program: bytes, threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(library.parent)
    x, y = inputs()
    runtime = Runtime.get()
    for loaded in (
        runtime.load_program(program, threads=threads, libraries=[library]),
        runtime.load_program(program, threads=threads, kernels=[library.name]),
    ):
        method = loaded.load_method()
        np.testing.assert_allclose(method.execute([x, y])[0], -(2 * np.maximum(x, 0) + y), rtol=1e-6, atol=1e-6)


def test_the_runner_loads_kernels(library: Path, program: bytes, tmp_path: Path):
    model = tmp_path / "model.pte"
    model.write_bytes(program)
    arrays = inputs()
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", array)
    command = [str(RUNNER), "--model_path", str(model), "--inputs", f"{tmp_path / '0.npy'},{tmp_path / '1.npy'}"]
    without = subprocess.run(command, capture_output=True, text=True, check=False)
    assert without.returncode == 1
    assert "there is no kernel for 'demo::axpy'" in without.stderr
    command += ["--libraries", str(library), "--output-dir", str(tmp_path), "--warmup", "1", "--iterations", "1"]
    subprocess.run(command, check=True)
    x, y = arrays
    np.testing.assert_allclose(np.load(tmp_path / "output_0.npy"), -(2 * np.maximum(x, 0) + y), rtol=1e-6, atol=1e-6)


def test_what_is_no_library_of_kernels(library: Path, program: bytes, tmp_path: Path):
    (tmp_path / "text.so").write_text("no library")
    for kernels, message in (
        ([tmp_path / "none.so"], r"none\.so': cannot load it: "),
        ([tmp_path / "text.so"], r"text\.so': cannot load it: "),
        (["libm.so.6"], "it has no function xir_kernel_library"),
        ([library, library], "there are two kernels for 'demo::axpy'"),
    ):
        with pytest.raises(XirRuntimeError, match=message):
            Runtime.get().load_program(program, kernels=kernels)
