"""`fold-width-stride`: strided convolutions of integers of every small geometry, for all weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.graphs import Graph
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.optimize.fold_width_stride import FoldWidthStridePass

ACTIVATION, FILTER, RESULT = (f"!quant.uniform<i8:f32, {parameters}>" for parameters in ("0.5", "0.25", "4.0:-2"))


def convolutions() -> Iterator[str]:
    """One row of pixels with one or two channels, an output channel, and a bias."""
    for channels, kernel, stride, left, right in product((1, 2), (1, 2, 3, 4), (2, 3), (0, 1, 2), (0, 1)):
        width = 6
        if left >= kernel or right >= kernel or width + left + right < kernel:
            continue
        graph = Graph()
        image = graph.input(1, 1, width, channels, element=ACTIVATION)
        filter = graph.constant(1, 1, kernel, channels, element=FILTER)
        yield graph.text(graph.convolution(image, filter, [0, right, 0, left], [1, stride], RESULT))


def test_convolutions() -> None:
    prove_all(convolutions(), FoldWidthStridePass(), at_least=56, reading=Reading(rounds=False))
