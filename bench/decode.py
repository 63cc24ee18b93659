"""Generation token by token with caches of keys and values, beside stock ExecuTorch's own export of the same decoder.

For a decoder of 123 million weights, in fp32 and with weights of 8 and 4 bits:

- TOKENS tokens of two generations in turn, each with a state of its own, against eager's of the same graph;
- a step with LIVE tokens in the cache, for windows of several sizes;
- a step at several positions and a prompt of PROMPT tokens, beside stock ExecuTorch's with `llama::custom_sdpa`, on one
  thread and on two, and beside the time in which memory delivers the bytes that a step reads;
- the memory that each runtime takes.

Programs are measured in turn, and the table has medians. On one thread times are the processor's, which other work on
the machine changes least; on several by the clock, which takes an idle machine.
"""

from __future__ import annotations

import argparse
import mmap
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import torch
from torch import Tensor

import xir.runtime
from bench.decoder import Decoder, Size
from bench.decoder_programs import (
    CHUNK,
    Form,
    cache_bytes,
    eager,
    load_stock_operators,
    stock_program,
    weight_bytes,
    xir_program,
)
from bench.latency import load_stock
from bench.processes import in_copy_of_process
from bench.progress import step
from xir.ir.targets import Target

Step = Callable[[Sequence[Tensor]], Sequence[Tensor]]
BYTES_MEASURED = 512 << 20


def call(first: int, count: int) -> tuple[Tensor, Tensor]:
    """Any tokens, and their positions."""
    return torch.ones(1, count, dtype=torch.int64), torch.arange(first, first + count)


def load(path: Path, threads: int) -> Step:
    """xir's program."""
    return runner(xir.runtime.Runtime.get().load_program(path, threads=threads))


def runner(program: xir.runtime.Program) -> Step:
    """A program's decode, and its prefill for several tokens, with a state of their own."""
    state = program.new_state()
    decode = program.load_method("decode", state=state)
    prefill = program.load_method("prefill", state=state) if "prefill" in program.method_names else decode

    def run(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        return (decode if inputs[0].shape[1] == 1 else prefill).execute(inputs)

    return run


def bandwidth(threads: int) -> float:
    """Bytes a second that memory delivers: the fastest of several readings of large pages."""
    with mmap.mmap(-1, BYTES_MEASURED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        values = torch.frombuffer(memory, dtype=torch.float32).fill_(1e-3)
        torch.set_num_threads(threads)
        clock, taken = clock_for(threads), list[float]()
        for _ in range(8):
            begin = clock()
            torch.dot(values, values)
            taken.append(clock() - begin)
        torch.set_num_threads(1)
        del values
    return BYTES_MEASURED / min(taken)


def clock_for(threads: int) -> Callable[[], float]:
    """The processor's time says nothing of how well threads share the work."""
    return time.process_time if threads == 1 else time.perf_counter


def times(steps: Mapping[str, Step], first: int, count: int, rounds: int, threads: int) -> dict[str, float]:
    """Milliseconds for `count` tokens from a position on, the medians; all take their turn in each round.

    Each round is one position further, as in a generation, so that sizes change from one to the next.
    """
    clock = clock_for(threads)
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(-3, rounds):
        inputs = call(first + max(number, 0) % 8, count)
        for name, each in steps.items():
            begin = clock()
            each(inputs)
            if number >= 0:
                taken[name].append((clock() - begin) * 1e3)
    return {name: statistics.median(each) for name, each in taken.items()}


def generation(run: Step, prompt: Sequence[int], count: int) -> Iterator[list[int]]:
    """The prompt and the likeliest tokens behind it, a token at a time; yields the text after each step."""
    text = list(prompt)
    (logits,) = run((torch.tensor([prompt]), torch.arange(len(prompt))))
    for position in range(len(prompt), len(prompt) + count):
        text.append(int(logits[0, -1].argmax()))
        yield text
        (logits,) = run((torch.tensor([text[-1:]]), torch.tensor([position])))


class Both:
    """Runs eager's model and a program on the same tokens, and gives eager's logits."""

    def __init__(self, model: Decoder, run: Step):
        self.model, self.run = model, run
        self.errors: list[float] = []
        """How far the program's logits are from eager's, in terms of the norm of these."""

    def __call__(self, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        expected = self.model(*inputs)
        self.errors.append(float((self.run(inputs)[0] - expected).norm() / expected.norm()))
        return (expected,)


def compare_generations(size: Size, form: Form, path: Path, count: int) -> None:
    """Two generations, a step of each in turn, against eager's alone, and their logits on eager's text.

    A quantised graph rounds activations to 8 bits: where sums differ in their last bit, a
    value may be rounded to the next step, and the rest of the network carries that on.
    """
    prompts = [[5, 17, 400, 3], [9, 8, 7, 6, 5, 4]]
    program = xir.runtime.Runtime.get().load_program(path, threads=1)
    found = [[*prompt] for prompt in prompts]
    for texts in zip_longest(*(generation(runner(program), prompt, count) for prompt in prompts)):
        found = [list(text or old) for text, old in zip(texts, found, strict=True)]
    for number, (prompt, text) in enumerate(zip(prompts, found, strict=True), 1):
        both = Both(eager(size, form), runner(program))
        with torch.no_grad():
            (*_, expected) = generation(both, prompt, count)
        equal = sum(a == b for a, b in zip(text, expected, strict=True)) - len(prompt)
        errors = both.errors
        print(
            f"{form}, generation {number}: {equal} of {count} tokens are eager's; on eager's text logits differ by "
            f"{max(errors):.1e} of their norm at most, {statistics.median(errors):.1e} in the median"
        )


def compare_windows(
    size: Size, form: Form, target: Target, windows: Sequence[int], live: int, rounds: int, folder: Path
) -> None:
    """A step over as many tokens, whatever the window.

    Each is loaded twice, in both orders: where a program's memory comes to lie depends on what was loaded before.
    """
    paths = {window: xir_program(size, form, folder, target, window=window) for window in windows}
    found: dict[int, list[float]] = {window: [] for window in windows}
    for order in (windows, windows[::-1]):
        taken = times({str(window): load(paths[window], 1) for window in order}, live - 1, 1, rounds, 1)
        for window in windows:
            found[window].append(taken[str(window)])
    means = {window: statistics.mean(each) for window, each in found.items()}
    listed = ", ".join(f"window {window} {each:.2f} ms" for window, each in means.items())
    print(f"{form}, a step over {live} tokens: {listed}: {max(means.values()) / min(means.values()) - 1:.1%} apart")


@dataclass(frozen=True)
class Measured:
    """Where and how often a form is measured."""

    positions: Sequence[int]
    prompt: int
    rounds: int
    threads: Sequence[int]


def compare_with_stock(size: Size, form: Form, ours: Path, stock: Path | None, measured: Measured) -> None:
    """Rows of the table."""
    for threads in measured.threads:
        delivered = bandwidth(threads)
        steps: dict[str, Step] = {"xir": load(ours, threads)}
        if stock is not None:
            steps["stock"] = load_stock(stock, threads)
        calls = [(position, 1, measured.rounds) for position in measured.positions]
        for first, count, rounds in [*calls, (0, measured.prompt, max(measured.rounds // 5, 3))]:
            taken = times(steps, first, count, rounds, threads)
            what = f"decode at {first}" if count == 1 else f"prefill of {count}"
            others = (
                (f"{taken['stock']:.2f}", f"{taken['xir'] / taken['stock']:.2f}") if stock is not None else ("", "")
            )
            read = weight_bytes(size, form) + cache_bytes(size, first + count)
            of_memory = f"{taken['xir'] / (read / delivered * 1e3):.2f}" if count == 1 else ""
            cells = (form, threads, what, f"{taken['xir']:.2f}", *others, f"{read / 1e6:.0f}", of_memory)
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def peak_memory(make: Callable[[], Step], prompt: int) -> int:
    """Bytes that a new process takes at most to load a program, to compute a prompt and a token."""

    def measure() -> int:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
        before = memory_of_process("VmRSS")
        each = make()
        each(call(0, prompt))
        each(call(prompt, 1))
        return memory_of_process("VmHWM") - before

    return in_copy_of_process(measure)


def memory_of_process(field: str) -> int:
    """A field of /proc/self/status, in bytes."""
    found = re.search(rf"^{field}:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.decode", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--forms", nargs="+", choices=["fp32", "int8", "int4"], default=["fp32", "int8", "int4"])
    parser.add_argument("--target", choices=get_args(Target), default="executorch", help="what xir compiles for")
    parser.add_argument("--tokens", type=int, default=200, help="tokens to generate; 0 generates none (default 200)")
    parser.add_argument("--live", type=int, default=64, help="tokens in the cache, for --windows (default 64)")
    parser.add_argument("--windows", type=int, nargs="*", default=[256, 4096], help="(default 256 4096)")
    parser.add_argument("--positions", type=int, nargs="+", default=[10, 250, 1900], help="(default 10 250 1900)")
    parser.add_argument("--prompt", type=int, default=128, help="tokens of a prefill (default 128)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="(default 1 2)")
    parser.add_argument("--layers", type=int, default=Size.layers, help=f"of the decoder (default {Size.layers})")
    parser.add_argument("--rounds", type=int, default=30, help="steps of each program (default 30)")
    parser.add_argument("--no-stock", action="store_true", help="leave stock ExecuTorch out")
    parser.add_argument("--stock-cache", type=Path, help="keep programs in this folder, and take stock's from there")
    args = parser.parse_args()
    size = Size(layers=args.layers)
    if not 2 <= args.prompt <= CHUNK or max(args.positions) + 8 > size.window:
        parser.error(f"a prompt has 2 to {CHUNK} tokens, and positions end at {size.window - 8}")
    torch.set_num_threads(1)
    measured = Measured(args.positions, args.prompt, args.rounds, args.threads)
    with ExitStack() as stack:
        folder = args.stock_cache or Path(stack.enter_context(TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        files: dict[Form, tuple[Path, Path | None]] = {
            form: (
                xir_program(size, form, folder, args.target),
                None if args.no_stock else stock_program(size, form, folder),
            )
            for form in args.forms
        }
        if not args.no_stock:
            load_stock_operators()
        for form, (ours, stock) in files.items():
            with step(f"Measuring memory in {form}"):
                peaks = {"xir": peak_memory(lambda path=ours: load(path, 1), args.prompt)}
                if stock is not None:
                    peaks["stock"] = peak_memory(lambda path=stock: load_stock(path, 1), args.prompt)
            listed = ", ".join(f"{name} {peak / 1e6:.0f} MB" for name, peak in peaks.items())
            print(f"{form}, memory at most: {listed}", flush=True)
        for form, (ours, _) in files.items():
            if args.tokens:
                with step(f"Generating in {form}"):
                    compare_generations(size, form, ours, args.tokens)
            if args.windows:
                compare_windows(size, form, args.target, args.windows, args.live, args.rounds, folder)
        delivered = ", ".join(f"{bandwidth(threads) / 1e9:.1f} GB/s to {threads}" for threads in args.threads)
        print(
            f"memory delivers {delivered} threads; `of memory` is a step's time, of what it takes to read its bytes\n"
        )
        print("| form | threads | step | xir ms | stock ms | of stock's | MB read | of memory |")
        print("|---|--:|---|--:|--:|--:|--:|--:|", flush=True)
        for form, (ours, stock) in files.items():
            compare_with_stock(size, form, ours, stock, measured)


if __name__ == "__main__":
    main()
