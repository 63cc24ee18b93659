"""`avoid-xnnpack-faults`: the smallest graph of each fault, and the conditions of each in larger ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from proofs.graphs import Graph
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.finish.avoid_xnnpack_faults import AvoidXnnpackFaultsPass
from xir.transforms.xnnpack.known_faults import KNOWN_FAULTS


def smallest() -> Iterator[str]:
    """The graphs that show the faults that the pass keeps graphs from."""
    return (fault.smallest for fault in KNOWN_FAULTS if fault.kept_by == "avoid-xnnpack-faults")


def turned() -> Iterator[str]:
    """Products of a transposed value with itself."""
    for perm, transposed in product(permutations(range(3)), (False, True)):
        graph = Graph()
        value = graph.transpose(graph.input(2, 2, 2), perm)
        yield graph.text(graph.matrix_multiply(value, value, transposed=transposed))


def extremes() -> Iterator[str]:
    """Maxima and minima of what is 0 or 1 by XNNPACK's count, as left or right operand."""
    for kind, number, swapped, shape in product(("maximum", "minimum"), (0, 1), (False, True), ((), (2,), (3, 2))):
        graph = Graph()
        value = graph.binary(
            "multiply", graph.input(*shape), graph.number(np.array([number], np.float32)[: len(shape) or 1])
        )
        value = graph.unary("abs", graph.binary("subtract", value, graph.number(np.array([0], np.float32))))
        other = graph.input(3, 2)
        yield graph.text(graph.binary(kind, *((other, value) if swapped else (value, other))))


def test_smallest_graphs() -> None:
    prove_all(smallest(), AvoidXnnpackFaultsPass(), at_least=9, reading=Reading(weights=False))


def test_turned_transposes() -> None:
    prove_all(turned(), AvoidXnnpackFaultsPass(), at_least=6)


def test_extremes() -> None:
    prove_all(extremes(), AvoidXnnpackFaultsPass(), at_least=8, reading=Reading(weights=False))
