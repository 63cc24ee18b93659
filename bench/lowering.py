"""How long each compiler takes from an `ExportedProgram` to the bytes of a `.pte`; `torch.export` is not counted.

As a program: how much longer xir takes with a cost profile, over the models of the zoo. That is processor time of one
process, without a profile and with it in turn, of which the shortest counts.
"""

import argparse
import gc
import time
from dataclasses import dataclass
from pathlib import Path

import torch

import xir
from bench.models import named_model
from bench.progress import step
from xir.models import MODELS


@dataclass(frozen=True)
class Lowering:
    """What one compiler needed: seconds, and the size of what it wrote in bytes."""

    compiler: str
    seconds: float
    size: int


def lowered(exported: torch.export.ExportedProgram, cpu: str = "generic") -> bytes:
    """The file that xir makes for `cpu`."""
    return xir.to_edge(exported).to_backend(xir.XnnpackPartitioner(cpu=cpu)).to_executorch().buffer


def lower_xir(exported: torch.export.ExportedProgram, path: Path, cpu: str = "generic") -> Lowering:
    """Lower with xir for `cpu`, and write the file."""
    start = time.perf_counter()
    buffer = lowered(exported, cpu)
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


def processor_time(exported: torch.export.ExportedProgram, cpu: str) -> float:
    """The seconds that lowering for `cpu` takes once."""
    gc.collect()
    start = time.process_time()
    lowered(exported, cpu)
    return time.process_time() - start


def main() -> None:
    """Lower some models without a profile and with it."""
    parser = argparse.ArgumentParser(prog="python -m bench.lowering", description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), help="default: the zoo")
    parser.add_argument("--cpu", default="zen4", help="the profile (default: zen4)")
    parser.add_argument("--rounds", type=int, default=3, help="of each model; the first one also imports (default: 3)")
    args = parser.parse_args()
    table = ["", f"| model | s | for {args.cpu} | ratio |", "|---|---|---|---|"]
    totals = [0.0, 0.0]
    for reference in args.models:
        with step(f"Lowering {reference}"):
            name, model, inputs = named_model(reference)
            exported = torch.export.export(model, inputs)
            rounds = [[processor_time(exported, cpu) for cpu in ("any", args.cpu)] for _ in range(args.rounds)]
        without, with_profile = map(min, zip(*rounds, strict=True))
        table.append(f"| {name} | {without:.2f} | {with_profile:.2f} | {with_profile / without:.2f} |")
        totals = [totals[0] + without, totals[1] + with_profile]
    print(*table, sep="\n")
    print(f"| all | {totals[0]:.2f} | {totals[1]:.2f} | {totals[1] / totals[0]:.3f} |")


if __name__ == "__main__":
    main()
