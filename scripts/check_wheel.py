"""`make test-wheel`: whether a wheel does its work alone, in an environment that has it and what pip installs with it.

A wheel for another processor is laid out as pip does, and its runner runs programs in an emulator. With `--python`, a
command that runs the other processor's Python, that runs them as well.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import chdir
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT / "backend_cpp" / "tests" / "data"
PROGRAMS = ("stock_small.pte", "stock_q8.pte", "stock_portable.pte")
"""Of ExecuTorch's, with delegates in fp32 and int8 and with kernels alone."""

RUN = """
import sys, xir
from pathlib import Path
import numpy as np
assert "executorch" not in sys.modules and "torch" not in sys.modules
assert (Path(xir.get_cmake_dir()) / "xirConfig.cmake").is_file()
for path in sys.argv[1:]:
    method = xir.runtime.Runtime.get().load_program(path).load_method()
    inputs = [np.ones(i.shape, i.dtype) for i in method.metadata.inputs]
    print(Path(path).name, [tuple(output.shape) for output in method.execute(inputs)])
"""

FOREIGN = ("torch", "executorch", "torchvision", "torchao")


def processor_of(wheel: Path) -> str:
    """The processor that a wheel is for."""
    return wheel.stem.rpartition("manylinux_2_28_")[2]


def check(wheel: Path, work: Path, python: str) -> None:
    """Install a wheel and run programs by it. SystemExit with what failed."""
    _check_content(wheel)
    if processor_of(wheel) == platform.machine():
        _check_here(wheel, work)
        return
    _check_emulated(wheel, work)
    if python:
        _check_emulated_python(wheel, work / "site", python.split())


def _check_content(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    for wanted in ("lib/xnnpack/libexecutorch_backend_xnnpack.so", "lib/xnnpack/licenses/XNNPACK", "include/xir/xir.h"):
        assert f"xir/{wanted}" in names, f"{wheel.name} lacks {wanted}"
    assert any(name.startswith("xir/lib/libxir.so.") for name in names), f"{wheel.name} lacks the shared library"
    # Python finds no module that is named for another processor.
    module = f"_native.cpython-{wheel.name.split('-')[2].removeprefix('cp')}-{processor_of(wheel)}-linux-gnu.so"
    assert f"xir/runtime/{module}" in names, f"{wheel.name} lacks {module}"


def _check_here(wheel: Path, work: Path) -> None:
    environment = work / "venv"
    _run(sys.executable, "-m", "venv", environment)
    _run(environment / "bin" / "pip", "install", "--quiet", wheel)
    listed = _run(environment / "bin" / "pip", "list", "--format=freeze")
    assert not any(line.startswith(FOREIGN) for line in listed.splitlines()), listed
    print(_run(environment / "bin" / "python", "-c", RUN, *(DATA / name for name in PROGRAMS)), end="")
    for name in PROGRAMS:
        _run("env", "-i", environment / "bin" / "xnn_executor_runner", "--model_path", DATA / name, "--iterations", "1")
    _check_library(environment, work)
    print(f"{wheel.name}: runs programs without torch and executorch, and its C library is found by CMake")


def _check_library(environment: Path, work: Path) -> None:
    """Build an application against the wheel, and run it."""
    found = _run(environment / "bin" / "python", "-c", "import xir; print(xir.get_cmake_dir())").strip()
    _run("cmake", "-S", ROOT / "backend_cpp/examples/embed", "-B", work / "embed", f"-Dxir_DIR={found}")
    _run("cmake", "--build", work / "embed", "--target", "embed_c")
    _run(work / "embed" / "embed_c", DATA / "stock_portable.pte")


def _check_emulated(wheel: Path, work: Path) -> None:
    processor = processor_of(wheel)
    unpacked = work / "unpacked"
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(unpacked)
    # As pip lays it out: PREFIX/bin and PREFIX/lib/python3.x/site-packages.
    prefix = work / "prefix"
    packages = prefix / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    shutil.move(unpacked / "xir", packages / "xir")
    (prefix / "bin").mkdir()
    (runner,) = unpacked.glob("xir-*.data/scripts/xnn_executor_runner")
    shutil.move(runner, prefix / "bin" / runner.name)
    (prefix / "bin" / runner.name).chmod(0o755)
    emulator = (
        "env",
        "-i",
        shutil.which(f"qemu-{processor}"),
        "-L",
        f"/usr/{processor}-linux-gnu",
        "-cpu",
        "max,sme=off",
    )
    for name in PROGRAMS:
        command = (prefix / "bin" / runner.name, "--model_path", DATA / name, "--iterations", "1")
        print(_run(*emulator, *command).splitlines()[0])
    print(f"{wheel.name}: runs programs on an emulated processor")


def _check_emulated_python(wheel: Path, site: Path, python: list[str]) -> None:
    tags = [f"--platform={tag}_{processor_of(wheel)}" for tag in ("manylinux_2_28", "manylinux_2_27", "manylinux2014")]
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--target", site)
    _run(*pip, *tags, "--platform=any", wheel)
    print(_run("env", f"PYTHONPATH={site}", *python, "-c", RUN, *(DATA / name for name in PROGRAMS)), end="")
    print(f"{wheel.name}: runs programs in Python on an emulated processor")


def _run(*command: object) -> str:
    done = subprocess.run([str(each) for each in command], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Check the wheels that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path, metavar="WHEEL")
    parser.add_argument(
        "--python", default="", metavar="COMMAND", help="the Python of another processor in an emulator"
    )
    options = parser.parse_args()
    for wheel in [wheel.resolve() for wheel in options.wheels]:
        with tempfile.TemporaryDirectory() as work, chdir(work):  # elsewhere `import xir` may find the tree
            check(wheel, Path(work), options.python)


if __name__ == "__main__":
    main()
