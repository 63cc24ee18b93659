"""How fast XNNPACK reads the weights of one fully connected layer, which is what bounds a decode step.

A row times a weight, by form of the weight: GB/s of weights and scales, where these are so few that they stay in a
cache, and where they come from memory. The rate in cache is what the kernel can do; where it is below what memory
delivers, no runtime that calls this kernel is bound by memory. Forms take their turn in each round, and the table has
the fastest; on one thread times are the processor's.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from bench.decode import bandwidth, clock_for
from bench.progress import step
from xir.api import XnnpackPartitioner, to_edge
from xir.llm.huggingface.quantization import Mode, quantize
from xir.runtime import Method, Runtime

INPUTS = 1024
ROW = torch.ones(1, INPUTS)
CACHED, STREAMED = 2048, 65536
"""Outputs of a layer whose weights stay in cache, and of one whose weights do not."""
FORMS: Sequence[tuple[Mode, int]] = (("int4", 32), ("int4", 64), ("int4", 128), ("int4", 256), ("int8", 0), ("none", 0))
"""Form and group size of weights; `none` is fp32."""


@dataclass(frozen=True)
class Product:
    """A program of one layer on one row."""

    mode: Mode
    group: int
    outputs: int
    method: Method

    @property
    def bytes_read(self) -> float:
        """Of weights and scales in a run."""
        bits = {"none": 32.0, "int8": 8 + 32 / INPUTS, "int4": 4 + 16 / max(self.group, 1)}[self.mode]
        return INPUTS * self.outputs * bits / 8


def product(mode: Mode, group: int, outputs: int, threads: int) -> Product:
    """Compiled and loaded."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(INPUTS, outputs, bias=False)).eval()
    quantize(model, mode, group or 32)
    with torch.no_grad():
        exported = torch.export.export(model, (ROW,))
    program = to_edge(exported).to_backend(XnnpackPartitioner()).to_executorch()
    method = Runtime.get().load_program(program.buffer, threads=threads).load_method()
    return Product(mode, group, outputs, method)


def rates(products: Sequence[Product], rounds: int, threads: int) -> list[float]:
    """Bytes a second of each, the fastest."""
    clock, best = clock_for(threads), [0.0] * len(products)
    for _, (number, each) in itertools.product(range(rounds), enumerate(products)):
        times = 50 if each.outputs == CACHED else 2
        each.method.execute([ROW])
        begin = clock()
        for _ in range(times):
            each.method.execute([ROW])
        best[number] = max(best[number], each.bytes_read * times / (clock() - begin))
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.products", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="(default 1)")
    parser.add_argument("--rounds", type=int, default=20, help="runs of each program (default 20)")
    args = parser.parse_args()
    print("| threads | weights | in cache, GB/s | from memory, GB/s | of what memory delivers |\n|--:|---|--:|--:|--:|")
    for threads in args.threads:
        with step(f"Compiling for {threads} threads"):
            cached = [product(mode, group, CACHED, threads) for mode, group in FORMS]
            streamed = [product(mode, group, STREAMED, threads) for mode, group in FORMS]
        delivered = bandwidth(threads)
        found = rates([*cached, *streamed], args.rounds, threads)
        for (mode, group), inside, outside in zip(FORMS, found, found[len(FORMS) :], strict=False):
            name = {"none": "fp32", "int8": "int8", "int4": f"int4, groups of {group}"}[mode]
            cells = (threads, name, f"{inside / 1e9:.1f}", f"{outside / 1e9:.1f}", f"{outside / delivered:.2f}")
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
