"""`winograd-conv2d`: F(2, 3) along one dimension and along both, direct and by plain products, with padding.

Filters are multiples of 4, so that their transforms are not rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from proofs.graphs import Graph
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.schedule.winograd_conv2d import WinogradConv2dPass

FORMS = (((1, 2), False), ((2, 1), True), ((2, 2), False), ((2, 2), True))
"""Height and width, and whether all products are plain ones."""


def convolutions() -> Iterator[str]:
    """Images of odd and even sizes with two channels, one result, and a bias."""
    for (height, width), padding in product(((3, 4), (5, 3), (4, 4)), (0, 1)):
        graph = Graph()
        random = np.random.default_rng(height)
        filter = graph.number((4 * random.integers(-3, 4, (1, 3, 3, 2))).astype(np.float32))
        bias = graph.number(np.array([5], np.float32))
        yield graph.text(graph.convolution(graph.input(1, height, width, 2), filter, [padding] * 4, [1, 1], "", bias))


def test_forms() -> None:
    for form, by_gemm in FORMS:
        given = WinogradConv2dPass(form=form, by_gemm=by_gemm)
        prove_all(convolutions(), given, at_least=3, reading=Reading(weights=False))
