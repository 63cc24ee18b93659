"""Which kernels ExecuTorch has: a fact about its release, read from a list of their names."""

from functools import cache
from pathlib import Path

EXECUTORCH = "ExecuTorch 1.5.1"
"""The release that the list is of."""


@cache
def executorch_kernels() -> frozenset[str]:
    """The names under which ExecuTorch's runtime registers kernels, such as `aten::add.out`."""
    lines = Path(__file__).with_name("executorch_kernels.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
