"""Latency of one model in our runtime and in stock ExecuTorch's, taken in one process, in alternating rounds.

Both run their own `.pte` of the same exported program on the same input through their Python API. Absolute times differ
between machines and hours; the ratio of two medians taken in alternation is what can be quoted.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime

import xir.runtime
from bench.progress import step

LOADS = 3
FEWEST_WARM_UPS, MOST_WARM_UPS = 3, 10
WARM_UP_SECONDS = 1.0
FEWEST_RUNS_PER_ROUND, MOST_RUNS_PER_ROUND = 2, 6
ROUND_SECONDS = 1.0
FEWEST_ROUNDS, MOST_ROUNDS = 5, 40
SECONDS = 4.0
"""Warm-ups, runs of a round and rounds are as many as fit into these times, each within its limits: a ratio from short
runs is mostly noise, and long ones need no repetition.
"""

Tensors = Sequence[torch.Tensor]
Execute = Callable[[Tensors], Tensors]
Load = Callable[[Path, int], Execute]
"""Loads a program on so many threads."""


@dataclass(frozen=True)
class Latency:
    """What one runtime needed on one thread count, in milliseconds."""

    runtime: str
    threads: int
    load: float
    first: float
    median: float
    minimum: float


class InRounds(Protocol):
    """A program that takes part in rounds."""

    runtime: str
    load: float
    first: float
    times: list[float]

    def run(self, inputs: Tensors, count: int) -> list[float]:
        """Run `count` times and give each run's milliseconds."""
        ...


@dataclass
class Peer:
    """A loaded program under measurement."""

    runtime: str
    execute: Execute
    load: float
    first: float
    times: list[float]

    def run(self, inputs: Tensors, count: int) -> list[float]:
        """Run `count` times and give each run's milliseconds."""
        taken: list[float] = []
        for _ in range(count):
            start = time.perf_counter()
            self.execute(inputs)
            taken.append((time.perf_counter() - start) * 1e3)
        return taken


def load_xir(path: Path, threads: int) -> Execute:
    """Load `path` in our runtime."""
    program = xir.runtime.Runtime.get().load_program(path, threads=threads)
    return program.load_method("forward").execute


def load_stock(path: Path, threads: int) -> Execute:
    """Load `path` in stock ExecuTorch, whose thread pool is one for the process and is sized before loading."""
    portable_lib._unsafe_reset_threadpool(threads)  # pyright: ignore[reportPrivateUsage]
    program = Runtime.get().load_program(path)
    method = program.load_method("forward")
    assert method is not None
    # A method of stock's keeps no reference to the program whose bytes it reads.
    return lambda inputs, _program=program: method.execute(inputs)


def start(runtime: str, load: Load, path: Path, threads: int, inputs: Tensors) -> Peer:
    """Load a program and run it until it is warm. What load and first run take is the median of several loads."""
    loads: list[float] = []
    firsts: list[float] = []
    peer = None
    for _ in range(LOADS):
        peer = None  # one copy of the weights at a time
        gc.collect()  # what was left over before is not this runtime's to clean up in its first run
        begin = time.perf_counter()
        execute = load(path, threads)
        loads.append((time.perf_counter() - begin) * 1e3)
        peer = Peer(runtime, execute, 0.0, 0.0, [])
        firsts += peer.run(inputs, 1)
    assert peer is not None
    peer.load, peer.first = statistics.median(loads), statistics.median(firsts)
    peer.run(inputs, fitting(WARM_UP_SECONDS, peer.first * 1e-3, FEWEST_WARM_UPS, MOST_WARM_UPS) - 1)
    return peer


def fitting(seconds: float, each: float, fewest: int, most: int) -> int:
    """How many times of `each` fit into `seconds`, within the limits."""
    return min(max(int(seconds / each), fewest), most)


def compare(ours: Path, stock: Path, inputs: Tensors, threads: int, float_: Path | None = None) -> tuple[Latency, ...]:
    """Measure both on `threads` threads, half of the rounds with either loaded first; our float one as well.

    Where a runtime's memory comes to lie depends on what was allocated before it, and is worth some two per cent.
    """
    loaders: list[tuple[str, Load, Path]] = [("xir", load_xir, ours), ("ExecuTorch", load_stock, stock)]
    if float_ is not None:
        loaders.append(("xir fp32", load_xir, float_))
    return compare_all(loaders, inputs, threads)


def compare_all(loaders: Sequence[tuple[str, Load, Path]], inputs: Tensors, threads: int) -> tuple[Latency, ...]:
    """Measure programs in turn on `threads` threads, in half of the rounds with the last of them loaded first."""
    halves: list[dict[str, Peer]] = []
    for order in (loaders, loaders[::-1]):
        with step(f"Measuring on {threads} thread{'' if threads == 1 else 's'}, {order[0][0]} loaded first"):
            peers = {name: start(name, load, path, threads, inputs) for name, load, path in order}
            take_rounds(list(peers.values()), inputs)
        halves.append(peers)
    return tuple(together([half[name] for half in halves], threads) for name, _, _ in loaders)


def take_rounds(peers: Sequence[InRounds], inputs: Tensors) -> None:
    """Measure in alternation, the first of the peers first in even rounds."""
    slowest = max(statistics.median(peer.run(inputs, 3)) for peer in peers) * 1e-3
    runs = fitting(ROUND_SECONDS, slowest, FEWEST_RUNS_PER_ROUND, MOST_RUNS_PER_ROUND)
    rounds = fitting(SECONDS, slowest * runs, FEWEST_ROUNDS, MOST_ROUNDS)
    gc.disable()
    try:
        for index in range(rounds):
            for peer in peers if index % 2 == 0 else reversed(peers):
                peer.times += peer.run(inputs, runs)
    finally:
        gc.enable()


def together(halves: Sequence[InRounds], threads: int) -> Latency:
    """One runtime's two measurements as one; of load and first iteration the mean."""
    times = [each for peer in halves for each in peer.times]
    load, first = (statistics.mean(values) for values in zip(*((p.load, p.first) for p in halves), strict=True))
    return Latency(halves[0].runtime, threads, load, first, statistics.median(times), min(times))


def outputs_of(run: Execute, inputs: Sequence[Tensors]) -> list[torch.Tensor]:
    """The outputs for each of several inputs, one after the other."""
    return [output.clone() for each in inputs for output in run(each)]


def largest_difference(ours: Path, stock: Path, inputs: Tensors) -> float:
    """The largest difference between the two runtimes' outputs, relative to stock's largest magnitude."""
    run_ours, run_stock = load_xir(ours, 1), load_stock(stock, 1)
    return largest_apart(run_ours(inputs), run_stock(inputs))


def largest_apart(ours: Tensors, theirs: Tensors) -> float:
    """The largest difference between outputs, relative to the other one's largest magnitude."""
    pairs = zip(ours, theirs, strict=True)
    return max(float((mine - other).abs().max() / other.abs().max()) for mine, other in pairs)
