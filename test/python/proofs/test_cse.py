"""`cse`: nodes that are equal, and nodes that differ by an operand, an attribute, a constant or a type alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement

import numpy as np

from proofs.graphs import Graph, Value
from proofs.proof import Reading, prove_all
from xir.transforms.general.cse import CsePass

MADE: tuple[Callable[[Graph, Value, Value], Value], ...] = (
    lambda graph, x, y: graph.binary("subtract", x, y),
    lambda graph, x, y: graph.binary("subtract", y, x),
    lambda graph, x, y: graph.binary("divide", x, y),
    lambda graph, x, y: graph.unary("exp", x),
    lambda graph, x, y: graph.transpose(x, (1, 0)),
    lambda graph, x, y: graph.reshape(x, (2, 2)),
    lambda graph, x, y: graph.slice(x, [(0, 2), (0, 1)]),
    lambda graph, x, y: graph.slice(x, [(0, 2), (1, 1)]),
    lambda graph, x, y: graph.clamp(x, 0.0, 6.0),
    lambda graph, x, y: graph.clamp(x, 0.0, None),
    lambda graph, x, y: graph.binary("add", x, graph.number(np.array([1.0], np.float32))),
    lambda graph, x, y: graph.binary("add", x, graph.number(np.array([2.0], np.float32))),
    lambda graph, x, y: graph.convert(graph.unary("exp", x), "!quant.uniform<i8:f32, 0.5>"),
    lambda graph, x, y: graph.convert(graph.unary("exp", x), "!quant.uniform<i8:f32, 0.25>"),
)


def pairs() -> Iterator[str]:
    """Each two nodes of one subgraph."""
    for first, second in combinations_with_replacement(MADE, 2):
        graph = Graph()
        x, y = graph.input(2, 2), graph.input(2, 2)
        values = [make(graph, x, y) for make in (first, second)]
        # Two outputs of a subgraph are never one value, so each has a reader of its own.
        yield graph.text(*(graph.pad(value, [(place, 0), (0, 0)]) for place, value in enumerate(values)))


def test_pairs() -> None:
    prove_all(pairs(), CsePass(), at_least=len(MADE), reading=Reading(weights=False))
