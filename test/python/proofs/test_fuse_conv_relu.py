"""`fuse-conv-relu`: clamps behind nodes with bounds of their own, through moves, on numbers and on integers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from proofs.graphs import Graph, Value
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.optimize.fuse_conv_relu import FuseConvReluPass

BOUNDS = ((0.0, None), (None, 6.0), (0.0, 6.0), (-1.0, 1.0), (7.0, 9.0), (-2.0, -1.5))

TYPES = tuple(
    f"!quant.uniform<i8:f32, {parameters}>" for parameters in ("0.5:3", "0.25:-128", "0.0625:127", "1.0", "0.03125:-3")
)


def clamped(graph: Graph, value: Value, low: float | None, high: float | None) -> Value:
    """Bounds behind moves."""
    value = graph.reshape(graph.transpose(value, (1, 0)), (6,))
    return graph.clamp(value, low, high)


def on_numbers() -> Iterator[str]:
    """Two clamps; a clamp behind a sum and a product."""
    for first, second in product(BOUNDS, repeat=2):
        graph = Graph()
        yield graph.text(clamped(graph, graph.clamp(graph.input(2, 3), *first), *second))
    for bounds in BOUNDS:
        graph = Graph()
        yield graph.text(clamped(graph, graph.binary("add", graph.input(2, 3), graph.input(3)), *bounds))
        graph = Graph()
        made = graph.fully_connected(graph.input(2, 2), graph.constant(3, 2), graph.constant(3))
        yield graph.text(clamped(graph, made, *bounds))


def test_on_numbers() -> None:
    prove_all(on_numbers(), FuseConvReluPass(), at_least=30)


def on_integers(types: tuple[str, ...] = TYPES) -> Iterator[str]:
    """Clamps from each type to each behind a clamp, and behind a sum."""
    for before, after, bounds in product(types, types, BOUNDS):
        graph = Graph()
        value = graph.clamp(graph.input(1, element="!quant.uniform<i8:f32, 0.125:-5>"), -3.0, 20.0, before)
        yield graph.text(graph.clamp(value, *bounds, element=after))
        graph = Graph()
        x = graph.input(1, element="!quant.uniform<i8:f32, 0.125:-5>")
        yield graph.text(graph.clamp(graph.binary("add", x, x, before), *bounds, element=after))


several = pytest.mark.parametrize(
    "types", [pytest.param(TYPES, id="all", marks=pytest.mark.exhaustive), pytest.param(TYPES[1:3], id="two")]
)


@several
def test_on_integers_that_keep_their_fractions(types: tuple[str, ...]) -> None:
    prove_all(on_integers(types), FuseConvReluPass(), at_least=6 * len(types) ** 2, reading=Reading(rounds=False))


@several
def test_on_integers_of_one_type(types: tuple[str, ...]) -> None:
    for each in types:
        prove_all(on_integers((each,)), FuseConvReluPass(), at_least=9)
