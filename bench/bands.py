"""Memory against latency: models whose delegates are computed in bands of rows, beside the same without bands.

The first column is the limit that each program was compiled for, as a share of what it needs without bands; then what
the compiler counts, and what a process grows by that loads and runs the program in xir's runtime and in stock
ExecuTorch, packed weights and input included. Times are the processor's on one thread, medians of alternating rounds.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

import xir
from bench.__main__ import processor
from bench.latency import Execute, Tensors, largest_difference, load_stock, load_xir
from bench.load import give_back_memory, resident
from bench.processes import in_copy_of_process
from bench.progress import step
from xir.dialects import xnnpack
from xir.ir.diagnostics import DiagnosticError
from xir.ir.walking import ops_in
from xir.models import load_model
from xir.transforms.xnnpack.schedule._band_search import Search

MODELS = ("mv2", "resnet18", "efficientnet_b0", "edsr")
SHARES = (1.0, 0.5, 1 / 3, 0.25)
ROUNDS = 30
FEWEST_ROUNDS, SECONDS = 5, 60.0
"""Programs that run for seconds have fewer rounds: no more begin after so long."""
LOADERS = {"xir": load_xir, "ExecuTorch": load_stock}


@dataclass(frozen=True)
class Point:
    """A program for some limit."""

    share: float
    bytes: int
    """The most that is alive in a delegate at once, as the compiler counts."""
    path: Path


def peak(edge: xir.EdgeProgram) -> int:
    """The most bytes of tensors that a delegate of a lowered program needs at once."""
    return max(Search(each.block).peak for each in ops_in(edge.module, xnnpack.SubgraphOp))


def points(name: str, folder: Path) -> tuple[list[Point], Tensors]:
    """The model's programs, without those whose limit is too low."""
    model, inputs = load_model(name)
    edge, found, whole = xir.to_edge(torch.export.export(model, inputs)), list[Point](), 0
    for index, share in enumerate(SHARES):
        try:
            with step(f"Lowering {name} for {share:.0%} of its memory"):
                lowered = edge.to_backend(xir.XnnpackPartitioner(max_arena=int(share * whole)))
        except DiagnosticError as error:
            print(f"{name}: {error.diagnostic.message}")
            break
        whole = whole or peak(lowered)
        path = folder / f"{index}.pte"
        with path.open("wb") as file:
            lowered.to_executorch().write_to_file(file)
        found.append(Point(share, peak(lowered), path))
    return found, inputs


def growth(runtime: str, path: Path, inputs: Tensors) -> int:
    """The bytes that loading and running a program adds to this process, which nothing has run in."""
    give_back_memory()
    before = resident()
    run = LOADERS[runtime](path, 1)
    for _ in range(2):
        run(inputs)
    give_back_memory()
    return resident() - before


def milliseconds(runs: list[Execute], inputs: Tensors) -> list[float]:
    """The median of processor time of each, in turn."""
    times: list[list[float]] = [[] for _ in runs]
    end = time.perf_counter() + SECONDS
    for index in range(ROUNDS + 2):
        if index >= FEWEST_ROUNDS + 2 and time.perf_counter() > end:
            break
        for run, taken in zip(runs, times, strict=True):
            begin = time.process_time()
            run(inputs)
            if index >= 2:
                taken.append((time.process_time() - begin) * 1e3)
    return [statistics.median(taken) for taken in times]


def measure(name: str, folder: Path) -> None:
    """Lower and run one model, and print its table."""
    found, inputs = points(name, folder)
    grown = {
        (runtime, each): in_copy_of_process(partial(growth, runtime, each.path, inputs))
        for runtime in LOADERS
        for each in found
    }

    def times_in(load: Callable[[Path, int], Execute]) -> list[float]:
        return milliseconds([load(each.path, 1) for each in found], inputs)

    def apart() -> float:
        return max(largest_difference(found[-1].path, each.path, inputs) for each in found)

    with step(f"Measuring {name}"):
        times = [in_copy_of_process(partial(times_in, load)) for load in LOADERS.values()]
    print(f"\n| {name} | counted MB | xir MB | ExecuTorch MB | xir ms | ratio | ExecuTorch ms | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for index, each in enumerate(found):
        memory = " | ".join(f"{grown[runtime, each] / 1e6:.1f}" for runtime in LOADERS)
        taken = " | ".join(f"{of[index]:.2f} | {of[index] / of[0]:.3f}" for of in times)
        print(f"| {each.share:.0%} | {each.bytes / 1e6:.2f} | {memory} | {taken} |")
    print(f"\nLargest difference of outputs in both runtimes: {in_copy_of_process(apart):.1e} of the largest.")


def main() -> None:
    """Measure some models."""
    parser = argparse.ArgumentParser(prog="python -m bench.bands", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS, help=f"default: {', '.join(MODELS)}")
    print(f"On {processor()}, one thread:")
    for name in parser.parse_args().models:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, Path(folder))


if __name__ == "__main__":
    main()
