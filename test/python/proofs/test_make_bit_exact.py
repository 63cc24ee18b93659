"""`make-bit-exact`: products for all integers, and averages of images whose sizes are powers of 2, for all bounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from proofs.graphs import Graph
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.finish.make_bit_exact import MakeBitExactPass

TYPES = ("!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8:f32, 0.25:-128>")
BOUNDS = ("", "output_min = 0.0 : f32", "output_min = -1.25 : f32, output_max = 5.9 : f32")


def products() -> Iterator[str]:
    """Of two inputs, of an input with itself within bounds, and with a constant."""
    for left, right, result in product(TYPES, repeat=3):
        graph = Graph()
        first, second = graph.input(2, element=left), graph.input(2, element=right)
        yield graph.text(graph.binary("multiply", first, second, result))
    for source, result, bounds in product(TYPES, TYPES, BOUNDS):
        graph = Graph()
        x = graph.input(1, element=source)
        attributes = f" {{{bounds}}}" if bounds else ""
        yield graph.text(graph.node(f"binary multiply {{}}{attributes}", [x, x], (1,), result))
        graph = Graph()
        x, factor = graph.input(2, 2, element=source), graph.number(np.array([-3, 7]), source)
        yield graph.text(graph.binary("multiply", x, factor, result))


def averages() -> Iterator[str]:
    """Images of up to four pixels."""
    sizes = ((1, 2), (2, 1), (2, 2))
    for (height, width), result, bounds, keeps in product(sizes, TYPES, BOUNDS[:2], (False, True)):
        graph = Graph()
        x = graph.input(2, height, width, 2, element=TYPES[0])
        yield graph.text(graph.global_average(x, result, keep_dims=keeps, bounds=bounds))


def test_products() -> None:
    prove_all(products(), MakeBitExactPass(), at_least=32, reading=Reading(weights=False))


def test_averages() -> None:
    prove_all(averages(), MakeBitExactPass(), at_least=24, reading=Reading(weights=False))
