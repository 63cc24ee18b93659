"""`isolate-tables`: functions of 8-bit numbers that share a conversion, and chains that are too long."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.graphs import Graph
from proofs.proof import prove_all
from xir.transforms.xnnpack.finish.isolate_tables import IsolateTablesPass

Q = "!quant.uniform<i8:f32, 0.5:3>"


def shared() -> Iterator[str]:
    """One conversion that up to three functions read, and what is no function of one number."""
    for count in (1, 2, 3):
        graph = Graph()
        value = graph.convert(graph.input(2, element=Q), "f32")
        made = [graph.convert(graph.unary(kind, value), Q) for kind in ("abs", "exp", "negate")[:count]]
        yield graph.text(*made, graph.reshape(value, (1, 2)))
        graph = Graph()
        value = graph.convert(graph.input(2, element=Q), "f32")
        yield graph.text(*(graph.convert(graph.binary("multiply", value, value), Q) for _ in range(count)))


def long_chains() -> Iterator[str]:
    """Chains of nodes, in each of which numbers stay apart by their place."""
    for shape in ((), (2,), (2, 2), (2, 1, 2)):
        for length in (8, 9, 10, 12):
            graph = Graph()
            value = graph.convert(graph.input(*shape, element=Q), "f32")
            for _ in range(length):
                value = graph.unary("sigmoid", value)
            yield graph.text(graph.convert(value, Q))


def test_shared_conversions() -> None:
    prove_all(shared(), IsolateTablesPass(), at_least=5)


def test_long_chains() -> None:
    prove_all(long_chains(), IsolateTablesPass(), at_least=8)
