"""`canonicalize`: transposes and reshapes that meet, transposes of products' operands, nodes that do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from math import prod

import pytest

from proofs.graphs import Graph
from proofs.proof import prove_all
from xir.transforms.general.canonicalize import CanonicalizePass

SIZES = (2, 2, 2, 1)

I8 = ("!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8:f32, 0.25:-7>")


def transposes(rank: int) -> Iterator[str]:
    """Pairs of transposes, before a node."""
    perms = list(permutations(range(rank)))
    for first, second in product(perms[:: 1 if rank < 4 else 5], perms):
        graph = Graph()
        value = graph.transpose(graph.transpose(graph.input(*SIZES[:rank]), first), second)
        yield graph.text(graph.unary("exp", value))


@pytest.mark.parametrize(("rank", "at_least"), [(1, 1), (2, 4), (3, 36), (4, 120)])
def test_transposes(rank: int, at_least: int) -> None:
    prove_all(transposes(rank), CanonicalizePass(), at_least=at_least)


def reshapes() -> Iterator[str]:
    """Shapes of 4 elements and up to three dimensions, one behind the other."""
    shapes = [shape for rank in (1, 2, 3) for shape in product((1, 2, 4), repeat=rank)]
    whole = [shape for shape in shapes if prod(shape) == 4]
    for before, between, after in product(whole[:3], whole, whole[::3]):
        graph = Graph()
        value = graph.reshape(graph.reshape(graph.input(*before), between), after)
        yield graph.text(graph.unary("exp", value))


def test_reshapes() -> None:
    prove_all(reshapes(), CanonicalizePass(), at_least=120)


def products(rank: int) -> Iterator[str]:
    """All transposes of the right matrices of a product, which may be reshaped behind it."""
    for perm, transposed, reshaped in product(permutations(range(rank)), (False, True), (False, True)):
        graph = Graph()
        right = graph.transpose(graph.input(*SIZES[:rank]), perm)
        if reshaped:
            right = graph.reshape(right, (1, *right.shape))
        rows = right.shape[-1 if transposed else -2]
        yield graph.text(graph.matrix_multiply(graph.input(2, rows), right, transposed=transposed))


@pytest.mark.parametrize(("rank", "at_least"), [(2, 8), (3, 12), (4, 28)])
def test_products(rank: int, at_least: int) -> None:
    prove_all(products(rank), CanonicalizePass(), at_least=at_least)


def idle_nodes() -> Iterator[str]:
    """Clamps without bounds and conversions, from each type to each, between two nodes."""
    for before, after in product(("f32", *I8), repeat=2):
        graph = Graph()
        value = graph.transpose(graph.input(2, 3, element=before), (1, 0))
        yield graph.text(graph.transpose(graph.convert(value, after), (1, 0)))
        if (before == "f32") == (after == "f32"):
            graph = Graph()
            value = graph.transpose(graph.input(2, 3, element=before), (1, 0))
            yield graph.text(graph.transpose(graph.clamp(value, None, None, after), (1, 0)))


def test_idle_nodes() -> None:
    prove_all(idle_nodes(), CanonicalizePass(), at_least=6)
