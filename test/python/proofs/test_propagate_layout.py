"""`propagate-layout`: nodes between transposes of all permutations, with constants and second operands of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product

import pytest

from proofs.graphs import Graph, Value
from proofs.proof import prove_all
from xir.transforms.xnnpack.optimize.propagate_layout import PropagateLayoutPass

SIZES = (2, 2, 2, 1)

BETWEEN: dict[str, Callable[[Graph, Value], Value]] = {
    "unary": lambda graph, x: graph.unary("hardswish", x),
    "row": lambda graph, x: graph.binary("multiply", x, graph.constant(x.shape[-1])),
    "column": lambda graph, x: graph.binary("subtract", graph.constant(*x.shape[-2:-1], 1), x),
    "whole": lambda graph, x: graph.binary("divide", graph.constant(*x.shape), x),
    "clamp": lambda graph, x: graph.clamp(x, -1.0, 0.5),
    "slice": lambda graph, x: graph.slice(x, [(axis % size, 1) for axis, size in enumerate(x.shape)]),
    "pad": lambda graph, x: graph.pad(x, [(axis, 1) for axis in range(len(x.shape))], 0.5),
    "concatenate": lambda graph, x: graph.concatenate([x, graph.unary("negate", x)], len(x.shape) - 1),
    "twice": lambda graph, x: graph.binary("add", graph.unary("exp", x), graph.transpose(x, range(len(x.shape)))),
}
"""What stands between two transposes, each made of a value."""


def between_transposes(rank: int, make: Callable[[Graph, Value], Value]) -> Iterator[str]:
    """A node between all pairs of transposes."""
    perms = list(permutations(range(rank))) if rank < 4 else [(0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0)]
    for first, second in product(perms, repeat=2):
        graph = Graph()
        value = make(graph, graph.transpose(graph.input(*SIZES[:rank]), first))
        yield graph.text(graph.transpose(value, second))


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("name", BETWEEN)
def test_between_transposes(name: str, rank: int) -> None:
    at_least = {2: 2, 3: 20, 4: 5}[rank]
    prove_all(between_transposes(rank, BETWEEN[name]), PropagateLayoutPass(), at_least=at_least)


def joined() -> Iterator[str]:
    """Two inputs that meet, each in a layout of its own, and of which one is read behind as well."""
    for first, second, third in product(permutations(range(3)), repeat=3):
        graph = Graph()
        shape = (2, 2, 2)
        left = graph.transpose(graph.input(*(shape[first.index(axis)] for axis in range(3))), first)
        right = graph.transpose(graph.input(*(shape[second.index(axis)] for axis in range(3))), second)
        value = graph.binary("subtract", graph.unary("exp", left), right)
        yield graph.text(graph.transpose(value, third), graph.unary("sigmoid", right))


def test_values_that_meet() -> None:
    prove_all(joined(), PropagateLayoutPass(), at_least=100)


def convolutions() -> Iterator[str]:
    """A convolution in channels last, between transposes as rules write them, with a residual."""
    for padding, stride in product((0, 1), (1, 2)):
        graph = Graph()
        image = graph.transpose(graph.input(1, 2, 3, 3), (0, 2, 3, 1))
        size = (3 + 2 * padding - 2) // stride + 1
        made = graph.convolution(image, graph.constant(2, 2, 2, 2), [padding] * 4, [stride] * 2)
        assert made.shape == (1, size, size, 2)
        first = graph.unary("hardswish", graph.transpose(made, (0, 3, 1, 2)))
        again = graph.convolution(graph.transpose(first, (0, 2, 3, 1)), graph.constant(2, 1, 1, 2), [0] * 4, [1, 1])
        yield graph.text(graph.binary("add", first, graph.transpose(again, (0, 3, 1, 2))))


def test_convolutions() -> None:
    prove_all(convolutions(), PropagateLayoutPass(), at_least=4)
