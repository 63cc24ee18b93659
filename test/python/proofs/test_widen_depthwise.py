"""`widen-depthwise`: integer filters of 25 taps on small images, with scales by channel, bias and bounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from proofs.graphs import Graph
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.schedule.widen_depthwise import WidenDepthwisePass

ACTIVATION = "!quant.uniform<i8:f32, 0.5:3>"
RESULTS = ("!quant.uniform<i8:f32, 0.25:-128>", "!quant.uniform<i8:f32, 4.0:5>")


def depthwise() -> Iterator[str]:
    """Two channels, whose filters have scales of their own."""
    for result, has_bias, bounds in product(RESULTS, (False, True), ("", ", output_min = 0.0 : f32")):
        graph = Graph()
        image = graph.input(1, 2, 2, 2, element=ACTIVATION)
        weights = np.arange(50).reshape((1, 5, 5, 2)) * 5 - 127
        filter = graph.number(weights, "!quant.uniform<i8<-127:127>:f32:3, {0.25, 0.5}>")
        bias = [graph.number(np.array([-100, 17]), "!quant.uniform<i32:f32:0, {0.125, 0.25}>")] if has_bias else []
        yield graph.text(graph.depthwise(image, filter, 2, result, *bias, bounds=bounds))


def test_depthwise_convolutions() -> None:
    prove_all(depthwise(), WidenDepthwisePass(cpu="x86"), at_least=8, reading=Reading(weights=False))
