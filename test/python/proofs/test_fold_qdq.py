"""`fold-qdq`: nodes and moves between conversions, for each integer of their operands.

Scales are powers of 2 and biases multiples of their products, so that what the pass makes integers of is one already;
elsewhere it rounds, as `Numerics.REQUANTIZED` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product

import numpy as np
import pytest

from proofs.graphs import Graph, Value
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.optimize.fold_qdq import FoldQdqPass

TYPES = ("!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8:f32, 0.25:-128>", "!quant.uniform<u8:f32, 0.25:7>")

RESULTS = ("!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8:f32, 1.0:-128>", "!quant.uniform<u8:f32, 2.0:100>")


def binaries() -> Iterator[str]:
    """Nodes of two operands, of each pair of types, with and without a clamp behind."""
    for kind, left, right, bounded in product(("add", "subtract", "multiply"), TYPES, TYPES, (False, True)):
        for result in RESULTS[:2]:
            graph = Graph()
            first, second = (graph.convert(graph.input(1, element=each), "f32") for each in (left, right))
            value = graph.binary(kind, first, second)
            yield graph.text(graph.convert(graph.clamp(value, 0.0, 6.0) if bounded else value, result))


one_of_five = pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.exhaustive)])
"""The parameters of graphs have two or three values each, so that one of five graphs has all pairs of them."""


@one_of_five
def test_binaries(every: int) -> None:
    prove_all(islice(binaries(), 0, None, every), FoldQdqPass(), at_least=70 // every)


MOVES: dict[str, Callable[[Graph, Value], Value]] = {
    "transpose": lambda graph, x: graph.transpose(x, (1, 0)),
    "reshape": lambda graph, x: graph.reshape(x, (3, 2)),
    "slice": lambda graph, x: graph.slice(x, [(1, 1), (0, 2)]),
    "pad by a number of the type": lambda graph, x: graph.pad(x, [(1, 0), (0, 2)], 1.0),
    "pad by another number": lambda graph, x: graph.pad(x, [(1, 0), (0, 2)], 0.3),
    "pad by a number beyond": lambda graph, x: graph.pad(x, [(1, 0), (0, 2)], 1000.0),
    "concatenate": lambda graph, x: graph.concatenate([x, x], 1),
    "clamp": lambda graph, x: graph.clamp(graph.slice(x, [(1, 1), (2, 1)]), -1.0, 3.0),
    "clamp to half a step": lambda graph, x: graph.clamp(graph.slice(x, [(0, 1), (1, 1)]), -1.125, 2.9),
    "two": lambda graph, x: graph.transpose(graph.pad(x, [(0, 1), (0, 0)], 0.0), (1, 0)),
}


def moves(make: Callable[[Graph, Value], Value]) -> Iterator[str]:
    """A move between conversions; before a node in floating point; behind one."""
    for before, after in product(TYPES, (*TYPES, "f32")):
        graph = Graph()
        value = make(graph, graph.convert(graph.input(2, 3, element=before), "f32"))
        yield graph.text(graph.unary("exp", value) if after == "f32" else graph.convert(value, after))
    for after in TYPES:
        graph = Graph()
        yield graph.text(graph.convert(make(graph, graph.unary("exp", graph.input(2, 3))), after))


@pytest.mark.parametrize("name", MOVES)
def test_moves(name: str) -> None:
    prove_all(moves(MOVES[name]), FoldQdqPass(), at_least=12)


FILTERS = ("!quant.uniform<i8<-127:127>:f32, 0.125>", "!quant.uniform<i8<-127:127>:f32:0, {0.125, 0.5}>")


def weighted() -> Iterator[str]:
    """Fully connected nodes and convolutions of integers, with a bias and without, with bounds and without."""
    for source, filter, result, bias, bounded in product(TYPES[:2], FILTERS, RESULTS[:2], (False, True), (False, True)):
        for is_image in (False, True):
            graph = Graph()
            # Roundings of several variables that are rounded once more are too much for z3.
            weights = np.array([[-3], [2]]) if bounded else np.array([[1, -2, 127], [-127, 0, 5]])
            channels = weights.shape[1]
            kernel = graph.convert(graph.number(weights.reshape((2, 1, 1, -1) if is_image else (2, -1)), filter), "f32")
            added = [graph.number(np.array([2.0, -3.5]))] if bias else []
            if is_image:
                x = graph.convert(graph.input(1, 1, 2, channels, element=source), "f32")
                value = graph.convolution(x, kernel, [0] * 4, [1, 1], "", *added)
            else:
                x = graph.convert(graph.input(1, channels, element=source), "f32")
                value = graph.fully_connected(x, kernel, *added)
            yield graph.text(graph.convert(graph.clamp(value, 0.0, None) if bounded else value, result))


@one_of_five
def test_weighted_nodes(every: int) -> None:
    prove_all(islice(weighted(), 0, None, every), FoldQdqPass(), at_least=64 // every, reading=Reading(weights=False))
