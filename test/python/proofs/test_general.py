"""`canonicalize` and `cse`, on subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, permutations, product
from math import prod

import numpy as np

from proofs.graphs import Graph, Value
from proofs.proof import NUMBERS, disproves, proves
from xir.transforms.general.canonicalize import CanonicalizePass
from xir.transforms.general.cse import CsePass

SIZES = (2, 2, 2, 1)
PATTERNS = "dialects.xnnpack.canonicalization_patterns"


@proves(CanonicalizePass(), at_least=161)
@disproves(
    "transposes composed the other way",
    "[ints(inner.perm)[axis] for axis in ints(op.perm)]",
    "[ints(op.perm)[axis] for axis in ints(inner.perm)]",
    PATTERNS,
)
@disproves(
    "any transpose taken for none",
    "list(ints(op.perm)) == list(range(len(op.perm)))",
    "ints(op.perm)[0] == 0",
    PATTERNS,
)
def test_transposes() -> Iterator[str]:
    """Pairs of transposes, before a node."""
    for rank in (1, 2, 3, 4):
        perms = list(permutations(range(rank)))
        for first, second in product(perms[:: 1 if rank < 4 else 5], perms):
            graph = Graph()
            value = graph.transpose(graph.transpose(graph.input(*SIZES[:rank]), first), second)
            yield graph.text(graph.unary("exp", value))


@proves(CanonicalizePass(), at_least=120)
def test_reshapes() -> Iterator[str]:
    """Shapes of 4 elements and up to three dimensions, one behind the other."""
    shapes = [shape for rank in (1, 2, 3) for shape in product((1, 2, 4), repeat=rank)]
    whole = [shape for shape in shapes if prod(shape) == 4]
    for before, between, after in product(whole[:3], whole, whole[::3]):
        graph = Graph()
        value = graph.reshape(graph.reshape(graph.input(*before), between), after)
        yield graph.text(graph.unary("exp", value))


@proves(CanonicalizePass(), at_least=48)
@disproves("the flag of a product kept", "if op.transpose_b is None:", "if op.transpose_b is not None:", PATTERNS)
def test_products() -> Iterator[str]:
    """All transposes of the right matrices of a product, which may be reshaped behind it."""
    for rank, transposed, reshaped in product((2, 3, 4), (False, True), (False, True)):
        for perm in permutations(range(rank)):
            graph = Graph()
            right = graph.transpose(graph.input(*SIZES[:rank]), perm)
            if reshaped:
                right = graph.reshape(right, (1, *right.shape))
            rows = right.shape[-1 if transposed else -2]
            yield graph.text(graph.matrix_multiply(graph.input(2, rows), right, transposed=transposed))


@proves(CanonicalizePass(), at_least=6)
def test_idle_nodes() -> Iterator[str]:
    """Clamps without bounds and conversions, from each type to each, between two nodes."""
    types = ("f32", "!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8:f32, 0.25:-7>")
    for before, after, is_clamp in product(types, types, (False, True)):
        if is_clamp and (before == "f32") != (after == "f32"):
            continue
        graph = Graph()
        value = graph.transpose(graph.input(2, 3, element=before), (1, 0))
        value = graph.clamp(value, None, None, after) if is_clamp else graph.convert(value, after)
        yield graph.text(graph.transpose(value, (1, 0)))


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


@proves(CsePass(), at_least=len(MADE), readings=[NUMBERS])
@disproves(
    "operands that count for nothing",
    "operands = tuple([id(operand) for operand in op.operands])",
    "operands = tuple(sorted([id(operand) for operand in op.operands]))",
)
def test_equal_nodes() -> Iterator[str]:
    """Each two nodes of one subgraph, which may differ by an operand, an attribute, a constant or a type alone."""
    for first, second in combinations_with_replacement(MADE, 2):
        graph = Graph()
        x, y = graph.input(2, 2), graph.input(2, 2)
        values = [make(graph, x, y) for make in (first, second)]
        # Two outputs of a subgraph are never one value, so each has a reader of its own.
        yield graph.text(*(graph.pad(value, [(place, 0), (0, 0)]) for place, value in enumerate(values)))
