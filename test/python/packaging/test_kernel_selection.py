"""CMake's XIR_KERNELS and XIR_PROFILER: what a build has of the runtime. `make test-small` builds all of it."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from xir.emitter.needed_kernels import needed_kernels, runtime_kernels
from xir.runtime import Runtime, portable_kernels

ROOT = Path(__file__).parents[3]
BACKEND = ROOT / "backend_cpp"


def configure(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Configure the runtime alone."""
    command = ["cmake", "-S", BACKEND, "-B", folder, "-G", "Ninja", "-DXIR_BUILD_SHARED=OFF", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def compiled(folder: Path, source: str) -> bytes:
    """One source file's object, compiled as this build compiles it but without optimisation of speed."""
    commands = json.loads((folder / "compile_commands.json").read_text())
    (command,) = (entry["command"] for entry in commands if entry["file"].endswith(source))
    arguments = shlex.split(command)
    target = folder / "object.o"
    arguments[arguments.index("-o") + 1] = str(target)
    subprocess.run([*arguments, "-O1"], cwd=folder, check=True)
    return target.read_bytes()


def test_a_build_has_the_kernels_that_are_named(tmp_path: Path) -> None:
    assert configure(tmp_path, "-DXIR_KERNELS=aten::abs.out;aten::mul.out").returncode == 0
    selected = compiled(tmp_path, "src/kernels/unary.cc")
    assert b"aten::abs.out" in selected
    assert b"aten::acos.out" not in selected
    assert b"Acos" not in selected  # nor what it calls
    assert configure(tmp_path, "-DXIR_KERNELS=all").returncode == 0
    everything = compiled(tmp_path, "src/kernels/unary.cc")
    assert b"aten::acos.out" in everything
    assert b"Acos" in everything
    assert len(everything) > 5 * len(selected)


def test_a_build_without_any_names_those_it_lacks(tmp_path: Path) -> None:
    assert configure(tmp_path, "-DXIR_KERNELS=", "-DXIR_PROFILER=OFF").returncode == 0
    header = (tmp_path / "generated/selected_kernels.h").read_text()
    assert "kAllKernels = false" in header
    assert all(f'"{name}\\n"' in header for name in runtime_kernels())
    assert "kHasProfiler = false" in (tmp_path / "generated/build_options.h").read_text()
    sources = [entry["file"] for entry in json.loads((tmp_path / "compile_commands.json").read_text())]
    assert any(source.endswith("profile/left_out.cc") for source in sources)
    assert not any(source.endswith("profile/table.cc") for source in sources)


def test_a_kernel_that_there_is_not_ends_in_a_diagnostic(tmp_path: Path) -> None:
    result = configure(tmp_path, "-DXIR_KERNELS=aten::abs.out;aten::abss.out")
    assert result.returncode == 1
    said = " ".join(result.stderr.split())
    assert "XIR_KERNELS: the runtime has no kernel 'aten::abss.out'" in said
    assert "--needed-kernels" in said


def test_the_list_is_the_runtimes() -> None:
    assert runtime_kernels() == portable_kernels()


def test_what_a_file_needs_is_what_the_runtime_looks_up() -> None:
    for name in ("stock_portable", "stock_state", "stock_q8", "stock_dynamic"):
        path = BACKEND / "tests/data" / f"{name}.pte"
        metadata = Runtime.get().load_program(path).metadata("forward")
        assert needed_kernels(path.read_bytes()) == frozenset(metadata.kernel_names), name
