"""The runtimes that files are compiled for: a target is declared here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Target = Literal["executorch", "xir"]
"""The runtime that a file is for: stock ExecuTorch, which xir's own runtime stands in for as well, or that alone."""


@dataclass(frozen=True)
class Features:
    """What the runtime of a target has beyond stock ExecuTorch 1.5."""

    xir_nodes: bool = False
    """XNNPACK nodes of xir's own (`dialects/xnnpack/wire.py`)."""
    xir_kernels: bool = False
    """Kernels of xir's own, `xir::…`."""


TARGETS: dict[Target, Features] = {"executorch": Features(), "xir": Features(xir_nodes=True, xir_kernels=True)}
"""The features of each `Target`."""
