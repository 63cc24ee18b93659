"""`bubble-up-slice` and `split-fully-connected`: slices behind nodes, for every box."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product

import pytest

from proofs.graphs import Graph, Value
from proofs.proof import prove_all
from xir.transforms.xnnpack.optimize.bubble_up_slice import BubbleUpSlicePass
from xir.transforms.xnnpack.optimize.split_fully_connected import SplitFullyConnectedPass

MADE: dict[str, Callable[[Graph], Value]] = {
    "fully connected": lambda graph: graph.fully_connected(graph.input(3, 2), graph.constant(3, 2), graph.constant(3)),
    "transposed filter": lambda graph: graph.fully_connected(graph.input(3, 2), graph.constant(2, 3), transposed=True),
    "matrices": lambda graph: graph.matrix_multiply(graph.input(2, 2, 3), graph.input(2, 3, 2)),
    "transposed matrices": lambda graph: graph.matrix_multiply(
        graph.input(2, 3, 2), graph.input(2, 3, 2), transposed=True
    ),
    "unary": lambda graph: graph.unary("exp", graph.input(3, 3)),
    "row and column": lambda graph: graph.binary("subtract", graph.input(3, 1), graph.input(3)),
    "constant": lambda graph: graph.binary("divide", graph.input(2, 3), graph.constant(2, 3)),
    "transpose": lambda graph: graph.transpose(graph.input(2, 3, 2), (2, 0, 1)),
    "reshape": lambda graph: graph.reshape(graph.input(3, 4), (3, 2, 2)),
    "clamp": lambda graph: graph.clamp(graph.input(3, 3), 0.0, None),
}


def boxes(shape: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """Every box in a tensor but the whole."""
    ranges = ([(start, stop - start) for start in range(size) for stop in range(start + 1, size + 1)] for size in shape)
    for box in product(*ranges):
        if [size for _, size in box] != list(shape):
            yield list(box)


def sliced(make: Callable[[Graph], Value]) -> Iterator[str]:
    """A node behind which each box is cut."""
    for box in boxes(make(Graph()).shape):
        graph = Graph()
        yield graph.text(graph.slice(make(graph), box))


@pytest.mark.parametrize("name", MADE)
def test_slices_that_move_up(name: str) -> None:
    prove_all(sliced(MADE[name]), BubbleUpSlicePass(), at_least=5)


def split(columns: int, transposed: bool, has_bias: bool, move: str) -> Iterator[str]:
    """A fully connected node whose columns are cut in two or three, behind moves."""
    for cuts in ([0, 1, columns], [0, 2, columns], [0, 1, 2, columns], [1, 3, columns]):
        graph = Graph()
        filter = graph.constant(2, columns) if transposed else graph.constant(columns, 2)
        bias = [graph.constant(columns)] if has_bias else []
        value = graph.fully_connected(graph.input(3, 2), filter, *bias, transposed=transposed)
        if move == "transpose":
            value = graph.transpose(value, (1, 0))
        if move == "reshape":
            value = graph.reshape(value, (1, 3, columns))
        axis = value.shape.index(columns)
        parts = list[Value]()
        for start, stop in pairwise(cuts):
            box = [(start, stop - start) if at == axis else (0, size) for at, size in enumerate(value.shape)]
            parts.append(graph.slice(value, box))
        yield graph.text(*parts)


@pytest.mark.parametrize("move", ["", "transpose", "reshape"])
def test_split_columns(move: str) -> None:
    for transposed, has_bias in product((False, True), repeat=2):
        prove_all(split(4, transposed, has_bias, move), SplitFullyConnectedPass(), at_least=4)
