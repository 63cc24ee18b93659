"""`widen-products`: 1x1 convolutions and linear layers on integers, with scales by channel, bias and bounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from proofs.graphs import Graph
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.schedule.widen_products import WidenProductsPass

WIDENED = WidenProductsPass(cpu=str(Path(__file__).with_name("tiles_of_four.toml")))
"""By a profile in which products on integers take long."""

ACTIVATION = "!quant.uniform<i8:f32, 0.5:3>"
RESULTS = ("!quant.uniform<i8:f32, 0.25:-128>", "!quant.uniform<i8:f32, 4.0:5>")
FILTER = "!quant.uniform<i8<-127:127>:f32:0, {0.25, 0.5}>"
BIAS = "!quant.uniform<i32:f32:0, {0.125, 0.25}>"


def products() -> Iterator[str]:
    """Two channels from two, with scales of their own."""
    for result, has_bias, bounds in product(RESULTS, (False, True), ("", "output_min = 0.0 : f32")):
        graph = Graph()
        image = graph.input(1, 2, 1, 2, element=ACTIVATION)
        filter = graph.number(np.array([[-127, 5], [88, 127]]).reshape((2, 1, 1, 2)), FILTER)
        bias = [graph.number(np.array([-100, 17]), BIAS)] if has_bias else []
        text = "conv2d {}" + (f" {{{bounds}}}" if bounds else "")
        yield graph.text(graph.node(text, [image, filter, *bias], (1, 2, 1, 2), result))
    for result, bounds in product(RESULTS, ("", "output_max = 5.5 : f32")):
        graph = Graph()
        rows = graph.input(2, 2, element=ACTIVATION)
        filter = graph.number(np.array([[-127, 5], [88, 127]]), FILTER)
        text = "fully_connected {}" + (f" {{{bounds}}}" if bounds else "")
        yield graph.text(graph.node(text, [rows, filter], (2, 2), result))


def test_products() -> None:
    prove_all(products(), WIDENED, at_least=12, reading=Reading(weights=False))
