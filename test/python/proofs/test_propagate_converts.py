"""`propagate-converts`: moves of 16-bit numbers between conversions of the program's or of the compiler's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from proofs.graphs import Graph, Value
from proofs.proof import prove_all
from xir.transforms.xnnpack.optimize.propagate_converts import PropagateConvertsPass

MOVES: tuple[Callable[[Graph, Value], Value], ...] = (
    lambda graph, x: x,
    lambda graph, x: graph.transpose(x, (1, 0)),
    lambda graph, x: graph.reshape(x, (3, 2)),
    lambda graph, x: graph.slice(x, [(1, 1), (0, 2)]),
    lambda graph, x: graph.pad(x, [(1, 0), (0, 2)], 0.5),
    lambda graph, x: graph.concatenate([x, graph.constant(2, 1, element=x.element)], 1),
    lambda graph, x: graph.transpose(graph.concatenate([x, x], 0), (1, 0)),
)


def conversions() -> Iterator[str]:
    """To 16 bits, a move, and back to fp32, where other nodes may read what is between."""
    for make, element, is_asked, is_shared in product(MOVES, ("f16", "bf16"), (False, True), (False, True)):
        graph = Graph()
        value = graph.unary("exp", graph.input(2, 3))
        short = graph.convert(value, element) if is_asked else graph.unasked_convert(value, element)
        moved = make(graph, short)
        back = graph.unary("sigmoid", graph.convert(moved, "f32"))
        yield graph.text(back, *([graph.unary("negate", moved)] if is_shared else []))


def test_conversions() -> None:
    prove_all(conversions(), PropagateConvertsPass(), at_least=28)
