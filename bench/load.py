"""What loading costs beside stock ExecuTorch: time to the first result, memory, and what a second instance adds.

Each round loads and runs every program once, in turn: xir's with nothing kept from before, xir's with a file of packed
weights, and stock's. Times are the processor's, which other work on the machine changes least; the last column is by
the clock on the wall. Ratios are medians over the rounds, of each round's own ratio: a burst of noise meets all three.

There are two tables. In a process that has loaded before, the C library still has memory to pack into; a new process,
which is how most applications load, gets each page from the system.
"""

import argparse
import ctypes
import gc
import mmap
import multiprocessing
import re
import statistics
import subprocess
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import torch

import xir.runtime
from bench import lowering
from bench.latency import Execute, Tensors, load_stock
from bench.progress import step
from bench.stock import stock_program
from xir.models import load_model

Load = Callable[[], Execute]
Taken = tuple[float, float, float]
"""Milliseconds of loading and of the first execution, and of both by the clock on the wall."""
TimeOne = Callable[[Load, Tensors], Taken]


@dataclass
class Times:
    """Milliseconds of one runtime in each round."""

    load: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    """Of both, by the clock on the wall."""

    def both(self) -> list[float]:
        """Load and first execution together."""
        return [load + first for load, first in zip(self.load, self.first, strict=True)]


def load_xir(path: Path, packed: Path | None) -> Execute:
    """Load a program on one thread; `packed` is its file of packed weights."""
    program = xir.runtime.Runtime.get().load_program(path, threads=1, packed_weights=packed)
    return program.load_method("forward").execute


def supply_memory() -> None:
    """Leave the system with pages that were in use just now.

    A hypervisor may have taken back those that no process has used for seconds, and takes ten times as long to return
    them as the system to hand them out: which program meets them would be chance.
    """
    with mmap.mmap(-1, 512 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for page in range(0, len(memory), mmap.PAGESIZE):
            memory[page] = 1


def time_once(load: Load, inputs: Tensors) -> Taken:
    """Load and run once in this process."""
    gc.collect()
    wall, begin = time.perf_counter(), time.process_time()
    execute = load()
    loaded = time.process_time()
    execute(inputs)
    done, passed = time.process_time(), time.perf_counter() - wall
    return (loaded - begin) * 1e3, (done - loaded) * 1e3, passed * 1e3


def time_in_new_process(load: Load, inputs: Tensors) -> Taken:
    """Load and run once in a copy of this process, which is new as long as this one has loaded nothing itself."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run(to: Connection) -> None:
        to.send(time_once(load, inputs))

    process = context.Process(target=run, args=(sender,))
    process.start()
    sender.close()
    taken = receiver.recv()
    process.join()
    return taken


def measure(loads: dict[str, Load], inputs: Tensors, rounds: int, time_one: TimeOne) -> dict[str, Times]:
    """Load and run each once a round, a different one first each time. The first round warms caches and is dropped."""
    times = {name: Times() for name in loads}
    names = list(loads)
    for index in range(rounds + 1):
        for name in names[index % len(names) :] + names[: index % len(names)]:
            supply_memory()
            load, first, wall = time_one(loads[name], inputs)
            if index > 0:
                times[name].load.append(load)
                times[name].first.append(first)
                times[name].wall.append(wall)
    return times


def ratio(of: list[float], to: list[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(of, to, strict=True))


def time_table(times: dict[str, Times]) -> str:
    """Medians, and ratios to stock's."""
    rows = [
        "| | load ms | first ms | both ms | load, of stock's | both, of stock's | wall, of stock's |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    stock = times["ExecuTorch"]
    for name, each in times.items():
        cells = [f"{statistics.median(values):.2f}" for values in (each.load, each.first, each.both())]
        pairs = [(each.load, stock.load), (each.both(), stock.both()), (each.wall, stock.wall)]
        cells += [f"{ratio(of, to):.2f}" for of, to in pairs]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def memory_line(path: Path, packed: Path | None) -> str:
    """What the native runner says of its memory once it has loaded a program."""
    runner = Path(sysconfig.get_path("scripts")) / "xnn_executor_runner"
    command = [runner, "--model_path", path, "--threads", "1", "--warmup", "0", "--iterations", "1", "--memory"]
    if packed is not None:
        command += ["--packed_weights", packed]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"^memory: (.*)$", output, re.MULTILINE)
    assert found is not None, output
    return found[1]


def resident() -> int:
    """Bytes of this process that are in memory and are its own."""
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    return sum(int(kib) for kib in re.findall(r"^Private_(?:Clean|Dirty): *(\d+) kB", text, re.MULTILINE)) * 1024


def give_back_memory() -> None:
    """Return to the system what earlier programs have left, so that whatever comes next has to ask for its own."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def instances_line(path: Path, inputs: Tensors, seconds: float) -> str:
    """Throughput of two instances on two threads beside one, and what the second one adds to memory."""
    program = xir.runtime.Runtime.get().load_program(path, threads=1)
    methods = [program.load_method("forward")]
    methods[0].execute(inputs)
    give_back_memory()
    before = resident()
    methods.append(program.load_method("forward"))
    methods[1].execute(inputs)
    added = resident() - before

    def count(running: int) -> float:
        """Executions a second of `running` instances."""
        counts = [0] * running
        end = time.perf_counter() + seconds

        def run(index: int) -> None:
            while time.perf_counter() < end:
                methods[index].execute(inputs)
                counts[index] += 1

        threads = [threading.Thread(target=run, args=(index,)) for index in range(running)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(counts) / (time.perf_counter() - begin)

    gains = [count(2) / count(1) for _ in range(5)]
    return (
        f"two instances on two threads: {statistics.median(gains):.2f} times one; the second takes {added / 1e6:.1f} MB"
    )


def bench(name: str, cache: Path, folder: Path, rounds: int, seconds: float) -> None:
    """Measure one model and print what there is to say."""
    model, inputs = load_model(name)
    ours, packed = cache / f"{name}_fp32_xir.pte", folder / f"{name}.packed"
    with step("Lowering with xir"):
        lowering.lower_xir(torch.export.export(model, inputs), ours)
    stock = stock_program(name, model, inputs, None, cache).path
    loads: dict[str, Load] = {
        "xir": partial(load_xir, ours, None),
        "xir, packed weights": partial(load_xir, ours, packed),  # the first time writes the file
        "ExecuTorch": partial(load_stock, stock, 1),
    }
    for where, time_one in (("in new processes", time_in_new_process), ("again and again in one process", time_once)):
        with step("Measuring"):
            times = measure(loads, inputs, rounds, time_one)
        print(f"\n{name}, fp32, one thread, {rounds} rounds {where}\n\n{time_table(times)}\n")
    print(f"native runner: {memory_line(ours, None)}")
    print(f"with packed weights: {memory_line(ours, packed)}")
    print(instances_line(ours, inputs, seconds), flush=True)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("models", nargs="*", default=["mv2", "resnet50", "vit"], help="models of the zoo")
    parser.add_argument("--rounds", type=int, default=15, help="loads of each (default: 15)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each throughput measurement (default: 2)")
    parser.add_argument("--stock-cache", type=Path, help="keep programs in this folder, and take stock's from there")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # a process with more could not be copied
    with tempfile.TemporaryDirectory() as made:
        cache = arguments.stock_cache or Path(made)
        cache.mkdir(parents=True, exist_ok=True)
        for name in arguments.models:
            bench(name, cache, Path(made), arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
