"""How long each compiler takes from an `ExportedProgram` to the bytes of a `.pte`; `torch.export` is not counted."""

import platform
import time
from dataclasses import dataclass
from pathlib import Path

import torch

import xir


@dataclass(frozen=True)
class Lowering:
    """What one compiler needed: seconds, and the size of what it wrote in bytes."""

    compiler: str
    seconds: float
    size: int


def lower_xir(exported: torch.export.ExportedProgram, path: Path, cpu: str | None = None) -> Lowering:
    """Lower with xir, for `cpu` or the family of the machine that it runs on, and write the file."""
    family = "x86" if platform.machine() in ("x86_64", "AMD64") else "any"
    start = time.perf_counter()
    partitioner = xir.XnnpackPartitioner(cpu=cpu or family)
    buffer = xir.to_edge(exported).to_backend(partitioner).to_executorch().buffer
    seconds = time.perf_counter() - start
    path.write_bytes(buffer)
    return Lowering("xir", seconds, len(buffer))


def lower_stock(exported: torch.export.ExportedProgram, path: Path) -> Lowering:
    """Lower with stock ExecuTorch's XNNPACK partitioner and write the file."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    start = time.perf_counter()
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    buffer = edge.to_executorch().buffer
    seconds = time.perf_counter() - start
    path.write_bytes(buffer)
    return Lowering("ExecuTorch", seconds, len(buffer))
