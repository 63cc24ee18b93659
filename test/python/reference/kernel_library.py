"""Builds shared libraries of kernels, as an application would."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shutil import which

BACKEND = Path(__file__).parents[3] / "backend_cpp"

SOURCES = (
    "core/dtype.cc",
    "core/status.cc",
    "core/tensor.cc",
    "kernels/kernel_arguments.cc",
    "kernels/kernel_checks.cc",
)
"""What a kernel takes of the runtime."""


def build_kernel_library(source: Path, library: Path) -> None:
    """Compile a file of kernels to a shared library."""
    compiler = which(os.environ.get("CXX", "c++"))
    assert compiler is not None
    command = [compiler, "-std=c++17", "-O0", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{BACKEND / 'include'}"]
    command += [f"-I{BACKEND / 'src'}", str(source), *(str(BACKEND / "src" / name) for name in SOURCES)]
    subprocess.run([*command, "-o", str(library)], check=True)
