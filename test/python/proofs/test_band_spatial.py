"""`band-spatial`: chains in as many bands as a limit on memory asks for, for all weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.graphs import Graph
from proofs.proof import prove
from xir.ir.diagnostics import DiagnosticError
from xir.transforms.xnnpack.schedule.band_spatial import BandSpatialPass


def chains() -> Iterator[str]:
    """Two filters over a column of pixels, with more channels between them than around."""
    for (first, second), (above, below), stride in product(((3, 3), (2, 3)), ((0, 0), (1, 1), (1, 0)), (1, 2)):
        graph = Graph()
        image = graph.input(1, 7, 1, 1)
        wide = graph.convolution(image, graph.constant(4, first, 1, 1), [above, 0, below, 0], [1, 1])
        kept = graph.unary("exp", wide)
        yield graph.text(graph.convolution(kept, graph.constant(1, second, 1, 4), [above, 0, below, 0], [stride, 1]))


def test_chains() -> None:
    bands = set[int]()
    for text in chains():
        for given in (BandSpatialPass(max_arena=limit) for limit in range(240, 40, -30)):
            try:
                proof = prove(text, given)
            except DiagnosticError:
                break
            assert not proof.counterexample, f"{text}\nbecomes\n{proof.after}\nwhich differs at {proof.counterexample}"
            bands.add(proof.after.count("xnnpack.unary"))
    assert {1, 2, 3} <= bands
