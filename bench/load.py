"""What loading costs beside stock ExecuTorch: time to the first result, memory, and what a second instance adds.

Each round loads and runs every program once, in turn: xir's with nothing kept from before, xir's with a file of packed
weights, and stock's. Times are the processor's, which other work on the machine changes least; the last column is by
the clock on the wall. Ratios are medians over the rounds, of each round's own ratio: a burst of noise meets all three.

There are two tables. In a process that has loaded before, the C library still has memory to pack into; a new process,
which is how most applications load, gets each page from the system. Neither has lowered a model: what that leaves of
memory would be there to pack into as well, as in no application.

No file of packed weights takes away the first execution, so that what it takes of stock's load and first execution is
the least that both can come to. That is a column of its own.
"""

import argparse
import gc
import mmap
import multiprocessing
import re
import resource
import statistics
import subprocess
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

import xir.runtime
from bench import lowering
from bench.latency import Execute, Tensors, load_stock
from bench.processes import in_copy_of_process
from bench.progress import step
from bench.stock import stock_program
from xir.memory import return_freed_memory
from xir.models import load_model

Load = Callable[[], Execute]


class Taken(NamedTuple):
    """What a program took once."""

    load: float
    first: float
    """Milliseconds of the processor, for loading and for the first execution."""
    wall: float
    """Milliseconds of both by the clock on the wall."""
    faults: float
    """Pages, or groups of them, that the system had to hand out or to map."""

    @property
    def both(self) -> float:
        """Load and first execution together."""
        return self.load + self.first


Times = list[Taken]
"""Of one runtime, one for each round."""
TimeOne = Callable[[Load, Tensors], Taken]


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
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    wall, begin = time.perf_counter(), time.process_time()
    execute = load()
    loaded = time.process_time()
    execute(inputs)
    done, passed = time.process_time(), time.perf_counter() - wall
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    return Taken((loaded - begin) * 1e3, (done - loaded) * 1e3, passed * 1e3, faults)


def time_in_new_process(load: Load, inputs: Tensors) -> Taken:
    """Load and run once in a copy of this process."""
    return in_copy_of_process(lambda: time_once(load, inputs))


def measure(loads: dict[str, Load], inputs: Tensors, rounds: int, time_one: TimeOne) -> dict[str, Times]:
    """Load and run each once a round, a different one first each time. The first round warms caches and is dropped."""
    times: dict[str, Times] = {name: [] for name in loads}
    names = list(loads)
    for index in range(rounds + 1):
        for name in names[index % len(names) :] + names[: index % len(names)]:
            supply_memory()
            taken = time_one(loads[name], inputs)
            if index > 0:
                times[name].append(taken)
    return times


def time_table(times: dict[str, Times]) -> str:
    """Medians, and ratios to stock's."""
    rows = [
        "| | load ms | first ms | both ms | page faults | first, of stock's both | both, of stock's | by the wall |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, each in times.items():
        pairs = list(zip(each, times["ExecuTorch"], strict=True))
        columns = zip(*((taken.load, taken.first, taken.both) for taken in each), strict=True)
        cells = [f"{statistics.median(values):.2f}" for values in columns]
        cells.append(f"{statistics.median(taken.faults for taken in each):.0f}")
        cells.append(f"{statistics.median(ours.first / stock.both for ours, stock in pairs):.2f}")
        cells.append(f"{statistics.median(ours.both / stock.both for ours, stock in pairs):.2f}")
        cells.append(f"{statistics.median(ours.wall / stock.wall for ours, stock in pairs):.2f}")
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def memory_line(path: Path, packed: Path | None) -> str:
    """What the native runner says of its memory once it has loaded a program."""
    runner = Path(sysconfig.get_path("scripts")) / "xnn_executor_runner"
    command = [runner, "--model_path", path, "--threads", "1", "--warmup", "0", "--iterations", "1", "--memory"]
    if packed is not None:
        command += ["--packed-weights", packed]
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
    return_freed_memory()


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


def prepare(name: str, cache: Path) -> tuple[Path, Path, Tensors]:
    """Our program of a model, stock's, and the inputs."""
    model, inputs = load_model(name)
    ours = cache / f"{name}_fp32_xir.pte"
    with step("Lowering with xir"):
        lowering.lower_xir(torch.export.export(model, inputs), ours)
    return ours, stock_program(name, model, inputs, None, cache).path, inputs


def measure_model(name: str, ours: Path, stock: Path, inputs: Tensors, rounds: int, seconds: float) -> None:
    """Measure one model in this process, and print what there is to say."""
    torch.set_num_threads(1)  # a process with more could not be copied
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / f"{name}.packed"
        loads: dict[str, Load] = {
            "xir": partial(load_xir, ours, None),
            "xir, packed weights": partial(load_xir, ours, packed),  # the first time writes the file
            "ExecuTorch": partial(load_stock, stock, 1),
        }
        for where, time_one in (("in new processes", time_in_new_process), ("in one process", time_once)):
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
    with tempfile.TemporaryDirectory() as made:
        cache = arguments.stock_cache or Path(made)
        cache.mkdir(parents=True, exist_ok=True)
        for name in arguments.models:
            work = (name, *prepare(name, cache), arguments.rounds, arguments.seconds)
            process = multiprocessing.get_context("spawn").Process(target=measure_model, args=work)
            process.start()
            process.join()
            if process.exitcode:
                parser.exit(1)


if __name__ == "__main__":
    main()
