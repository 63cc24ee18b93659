"""Generation token by token with a cache of keys and values: what a step takes, and that its window does not matter.

Three things, each with a decoder of 123 million parameters and random weights, on one thread:

- TOKENS tokens of two generations in turn, each with a state of its own, against eager's;
- a step with LIVE tokens in the cache, for windows of several sizes;
- a step at several positions, beside stock ExecuTorch's export of the same decoder with `llama::custom_sdpa`.

Steps are taken in turn. Times are the processor's, which other work on the machine changes least.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

import xir.runtime
from bench.decoder import CustomAttention, Decoder, Size, decoder
from bench.latency import load_stock
from bench.progress import step
from xir.api import XnnpackPartitioner, to_edge

Step = Callable[[Sequence[Tensor]], Sequence[Tensor]]


def exported(size: Size, *, window: int | None = None, custom: bool = False) -> torch.export.ExportedProgram:
    """One token at a time."""
    model = decoder(size, CustomAttention, window=window) if custom else decoder(size, window=window)
    with torch.no_grad():
        return torch.export.export(model, (torch.tensor([[1]]), torch.tensor([0])), strict=True)


def compiled(size: Size, *, window: int | None = None) -> bytes:
    """xir's program."""
    program = to_edge(exported(size, window=window)).to_backend(XnnpackPartitioner())
    return program.to_executorch().buffer


def stock(size: Size, folder: Path) -> Path:
    """Stock's program, with its operators for attention."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
    from executorch.exir import to_edge_transform_and_lower

    import_module("executorch.extension.llm.custom_ops.custom_ops")  # registers llama::
    path = folder / "stock.pte"
    lowered = to_edge_transform_and_lower(exported(size, custom=True), partitioner=[StockPartitioner()])
    path.write_bytes(lowered.to_executorch().buffer)
    return path


def times(steps: Mapping[str, Step], position: int, rounds: int) -> dict[str, float]:
    """Milliseconds of the processor's time for a step at a position, the medians; all take their turn in each round."""
    inputs = (torch.tensor([[1]]), torch.tensor([position]))
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 3):
        for name, each in steps.items():
            begin = time.process_time()
            each(inputs)
            if number >= 3:
                taken[name].append((time.process_time() - begin) * 1e3)
    return {name: statistics.median(each) for name, each in taken.items()}


def generation(run: Step, prompt: Sequence[int], count: int) -> Iterator[list[int]]:
    """The prompt and the likeliest tokens behind it, a token at a time; yields the text after each step."""
    text = list(prompt)
    for position in range(len(prompt) + count - 1):
        (logits,) = run((torch.tensor([[text[position]]]), torch.tensor([position])))
        if position >= len(prompt) - 1:
            text.append(int(logits[0, -1].argmax()))
        yield text


def compare_generations(size: Size, program: xir.runtime.Program, count: int) -> None:
    """Two generations, a step of each in turn, against eager's alone."""
    prompts = [[5, 17, 400, 3], [9, 8, 7, 6, 5, 4]]
    found = [[*prompt] for prompt in prompts]
    runs = [program.load_method(state=program.new_state()).execute for _ in prompts]
    for texts in zip_longest(*(generation(run, prompt, count) for run, prompt in zip(runs, prompts, strict=True))):
        found = [text or old for text, old in zip(texts, found, strict=True)]
    for number, (prompt, text) in enumerate(zip(prompts, found, strict=True), 1):
        model = decoder(size)

        def eager(inputs: Sequence[Tensor], model: Decoder = model) -> Sequence[Tensor]:
            return (model(*inputs),)

        with torch.no_grad():
            (*_, expected) = generation(eager, prompt, count)
        equal = sum(a == b for a, b in zip(text, expected, strict=True)) - len(prompt)
        print(f"generation {number}: {equal} of {count} tokens are eager's")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=200, help="tokens to generate; 0 generates none (default 200)")
    parser.add_argument("--live", type=int, default=64, help="tokens in the cache (default 64)")
    parser.add_argument("--windows", type=int, nargs="+", default=[256, 4096], help="(default 256 4096)")
    parser.add_argument(
        "--positions", type=int, nargs="+", default=[10, 250, 500, 1900], help="(default 10 250 500 1900)"
    )
    parser.add_argument("--layers", type=int, default=8, help="of the decoder (default 8)")
    parser.add_argument("--rounds", type=int, default=30, help="steps of each program (default 30)")
    parser.add_argument("--no-stock", action="store_true", help="leave stock ExecuTorch out")
    args = parser.parse_args()
    torch.set_num_threads(1)
    size, runtime = Size(layers=args.layers), xir.runtime.Runtime.get()
    steps: dict[str, Step] = {}
    for window in args.windows:
        with step(f"Compiling for a window of {window}"):
            steps[f"window {window}"] = (
                runtime.load_program(compiled(size, window=window), threads=1).load_method().execute
            )
    taken = times(steps, args.live - 1, args.rounds)
    print(f"a step over {args.live} tokens: " + ", ".join(f"{name} {each:.2f} ms" for name, each in taken.items()))
    steps.clear()
    with step(f"Compiling for a window of {size.window}"):
        program = runtime.load_program(compiled(size), threads=1)
    if args.tokens:
        with step("Generating"):
            compare_generations(size, program, args.tokens)
    with TemporaryDirectory() as folder:
        steps["xir"] = program.load_method().execute
        if not args.no_stock:
            with step("Compiling by stock ExecuTorch"):
                steps["stock"] = load_stock(stock(size, Path(folder)), 1)
        for position in args.positions:
            taken = times(steps, position, args.rounds)
            ratio = f", {taken['xir'] / taken['stock']:.2f} of stock's" if "stock" in taken else ""
            print(f"position {position}: " + ", ".join(f"{name} {each:.2f} ms" for name, each in taken.items()) + ratio)


if __name__ == "__main__":
    main()
