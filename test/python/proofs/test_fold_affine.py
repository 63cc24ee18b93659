"""`fold-affine`: factors and offsets behind and in front of linear nodes, by element and by channel, within bounds.

Weights are small integers, so that no product of constants is rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from proofs.graphs import Graph, Value
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.optimize.fold_affine import FoldAffinePass

FACTORS = (np.array([2], np.float32), np.array([-3], np.float32), np.array([2, -1], np.float32))
KINDS = ("multiply", "add", "subtract")
NODES = ("convolution", "fully connected", "transposed")
BOUNDS = "output_min = -1.0 : f32, output_max = 2.0 : f32"


def affine(graph: Graph, value: Value, kind: str, numbers: np.ndarray, *, is_left: bool = False) -> Value:
    """A factor or an offset."""
    constant = graph.number(numbers)
    return graph.binary(kind, *((constant, value) if is_left else (value, constant)))


def linear(graph: Graph, value: Value, node: str, *, has_bias: bool, bounds: str = "") -> Value:
    """A node with two channels of two."""
    weights = np.array([[1, -2], [3, 4]], np.float32)
    filter = graph.number(weights.reshape(2, 1, 1, 2) if node == "convolution" else weights)
    operands = [value, filter, *([graph.number(np.array([5, -6], np.float32))] if has_bias else [])]
    attributes = ", ".join(each for each in ("transpose_weights" * (node == "transposed"), bounds) if each)
    name = "conv2d" if node == "convolution" else "fully_connected"
    return graph.node(f"{name} {{}} {{{attributes}}}", operands, value.shape)


def behind() -> Iterator[str]:
    """Behind a node with bounds or without, at once or behind a move."""
    cases = product(NODES, KINDS, FACTORS, ("", BOUNDS), (False, True))
    for number, (node, kind, numbers, bounds, is_moved) in enumerate(cases):
        graph = Graph()
        x = graph.input(*((1, 1, 1, 2) if node == "convolution" else (1, 2)))
        value = linear(graph, x, node, has_bias=number % 3 == 0, bounds=bounds)
        if is_moved:
            value = graph.reshape(value, (2, 1) if numbers.size == 1 else (1, 1, 2))
        yield graph.text(affine(graph, value, kind, numbers, is_left=number % 5 == 0))


def in_front() -> Iterator[str]:
    """In front of two nodes, at once or before a move."""
    for kind, numbers, is_moved in product(KINDS, FACTORS, (False, True)):
        graph = Graph()
        value = affine(graph, graph.input(2, 2), kind, numbers)
        value = graph.reshape(value, (1, 2, 2)) if is_moved else value
        first = linear(graph, value, "fully connected", has_bias=True)
        yield graph.text(first, linear(graph, value, "transposed", has_bias=False))


def test_behind() -> None:
    prove_all(behind(), FoldAffinePass(), at_least=60, reading=Reading(weights=False))


def test_in_front() -> None:
    prove_all(in_front(), FoldAffinePass(), at_least=18, reading=Reading(weights=False))
