"""Causal attention over long contexts: in whole matrices, in blocks, in bands of heads, and by stock's `custom_sdpa`.

Each row is a program of one attention, of eight heads with 64 features. The first three run in xir's runtime: without
`skip-masked-keys`, as it is lowered, and with the least memory that `--max-arena` keeps. The last one runs in stock
ExecuTorch, whose kernel of language models takes queries and keys in tiles. Times are the processor's on one thread,
medians of alternating rounds; memory is what a process grows by that loads and runs the program.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

import xir
from bench.__main__ import processor
from bench.bands import growth, milliseconds, peak
from bench.decoder_programs import load_stock_operators
from bench.latency import Execute, Tensors, load_stock, load_xir
from bench.processes import in_copy_of_process
from bench.progress import step
from xir.ir.diagnostics import DiagnosticError
from xir.ir.passes import XirPass

TOKENS = (1024, 4096)
HEADS, FEATURES = 8, 64
SHARES = (1 / 32, 1 / 24, 1 / 16, 1 / 12, 1 / 8, 1 / 6, 1 / 4, 1 / 2, 1.0)
"""Of the memory that whole matrices take: the limits to try, the least first."""


class Attention(nn.Module):
    """Attention of tokens to those before them, [1, heads, tokens, features]."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)


class CustomAttention(nn.Module):
    """The same by ExecuTorch's operator, [1, tokens, heads, features]."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return torch.ops.llama.custom_sdpa(query, key, value, 0, None, 0.0, True)


@dataclass(frozen=True)
class WholeMatrices:
    """xir's partitioner without `skip-masked-keys`."""

    def passes(self) -> Sequence[XirPass]:
        """The passes."""
        return [each for each in xir.XnnpackPartitioner().passes() if each.name != "skip-masked-keys"]


@dataclass(frozen=True)
class Row:
    """A program to measure."""

    name: str
    runtime: str
    path: Path
    inputs: Tensors

    def load(self) -> Execute:
        """Load it on one thread."""
        return {"xir": load_xir, "ExecuTorch": load_stock}[self.runtime](self.path, 1)


def least(edge: xir.EdgeProgram, whole: int) -> xir.EdgeProgram:
    """The program lowered for the least of the limits that it can keep."""
    for share in SHARES:
        try:
            return edge.to_backend(xir.XnnpackPartitioner(max_arena=int(share * whole)))
        except DiagnosticError:
            continue
    return edge.to_backend(xir.XnnpackPartitioner())


def rows(tokens: int, folder: Path) -> list[Row]:
    """The programs."""
    from executorch.exir import to_edge_transform_and_lower

    inputs = tuple(torch.randn(1, HEADS, tokens, FEATURES) for _ in range(3))
    edge = xir.to_edge(torch.export.export(Attention(), inputs))
    whole = edge.to_backend(WholeMatrices())
    programs = {
        "whole matrices": whole,
        "blocks": edge.to_backend(xir.XnnpackPartitioner()),
        "blocks, least memory": least(edge, peak(whole)),
    }
    found: list[Row] = []
    for index, (name, program) in enumerate(programs.items()):
        path = folder / f"{index}.pte"
        path.write_bytes(program.to_executorch().buffer)
        found.append(Row(f"{name}, {peak(program) / 1e6:.1f} MB counted", "xir", path, inputs))
    transposed = tuple(each.transpose(1, 2).contiguous() for each in inputs)
    stock = to_edge_transform_and_lower(torch.export.export(CustomAttention(), transposed)).to_executorch()
    path = folder / "custom.pte"
    path.write_bytes(stock.buffer)
    return [*found, Row("custom_sdpa", "ExecuTorch", path, transposed)]


def largest_error(each: Row) -> float:
    """How far a program's output is from eager's, of its largest magnitude."""
    shown = each.inputs if each.runtime == "xir" else tuple(value.transpose(1, 2) for value in each.inputs)
    (query, key, value), (result,) = shown, each.load()(each.inputs)
    wanted = Attention()(query, key, value)
    got = result if each.runtime == "xir" else result.transpose(1, 2)
    return float((torch.as_tensor(got) - wanted).abs().max() / wanted.abs().max())


def measure(tokens: int) -> None:
    """Print the table of one length."""
    with tempfile.TemporaryDirectory() as folder:
        with step(f"Lowering attention over {tokens} tokens"):
            found = rows(tokens, Path(folder))
        grown = [in_copy_of_process(partial(growth, each.runtime, each.path, each.inputs)) for each in found]
        with step(f"Measuring attention over {tokens} tokens"):
            runs = [partial(lambda run, given, _: run(given), each.load(), each.inputs) for each in found]
            times = milliseconds(runs, ())
        print(f"\n| causal attention over {tokens} tokens | MB grown | ms | ratio | off by |\n|---|---|---|---|---|")
        for each, memory, taken in zip(found, grown, times, strict=True):
            ratio, error = taken / times[0], largest_error(each)
            print(f"| {each.name} | {memory / 1e6:.1f} | {taken:.1f} | {ratio:.3f} | {error:.1e} |")


def main() -> None:
    """Measure some lengths."""
    parser = argparse.ArgumentParser(prog="python -m bench.attention", description=__doc__)
    parser.add_argument("tokens", nargs="*", type=int, default=TOKENS, help="default: 1024 and 4096")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    load_stock_operators()
    print(f"On {processor()}, one thread:")
    for tokens in arguments.tokens:
        measure(tokens)


if __name__ == "__main__":
    main()
