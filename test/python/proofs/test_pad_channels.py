"""`pad-channels`: channels that are padded to whole tiles of four between products, for all weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from proofs.graphs import Graph, Value
from proofs.proof import prove_all
from xir.transforms.xnnpack.schedule.pad_channels import PadChannelsPass

PADDED = PadChannelsPass(cpu=str(Path(__file__).with_name("tiles_of_four.toml")))
"""By a profile in which products of whole tiles of four columns take a hundredth of the time, and nothing else any."""

SIZES = (5, 6)

BETWEEN: tuple[Callable[[Graph, Value], Value], ...] = (
    lambda graph, x: x,
    lambda graph, x: graph.unary("hardswish", x),
    lambda graph, x: graph.clamp(x, 1.0, 6.0),
    lambda graph, x: graph.binary("multiply", x, graph.constant(x.shape[-1])),
    lambda graph, x: graph.binary("add", graph.constant(1), x),
    lambda graph, x: graph.binary("multiply", x, graph.unary("sigmoid", graph.global_average(x))),
    lambda graph, x: graph.depthwise(x, graph.constant(1, 1, 2, x.shape[-1]), 0, "", graph.constant(x.shape[-1])),
    lambda graph, x: graph.binary("subtract", x, graph.constant(1, 2, x.shape[-1])),
)
"""What stands between two products of images of 1x2 pixels, each made of a value."""


def products() -> Iterator[str]:
    """The channels of a convolution, with bias and without, through a node, to one convolution or two."""
    for make in BETWEEN:
        for size in SIZES:
            graph = Graph()
            bias = [graph.constant(size)] if size == SIZES[0] else []
            filter = graph.constant(size, 1, 1, 2)
            made = graph.convolution(graph.input(1, 1, 2, 2), filter, [0] * 4, [1, 1], "", *bias)
            value = make(graph, made)
            yield graph.text(
                *(graph.convolution(value, graph.constant(1, 1, 1, size), [0] * 4, [1, 1]) for _ in bias or [0])
            )


def test_products() -> None:
    prove_all(products(), PADDED, at_least=14)
