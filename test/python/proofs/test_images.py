"""Passes that compose convolutions otherwise, in bands, with other strides, more channels or as products, and graphs
that XNNPACK computes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product
from pathlib import Path

import numpy as np

from proofs.graphs import Graph, Value
from proofs.proof import NUMBERS, Reading, disproves, proves
from xir.transforms.xnnpack.finish.avoid_xnnpack_faults import AvoidXnnpackFaultsPass
from xir.transforms.xnnpack.known_faults import KNOWN_FAULTS
from xir.transforms.xnnpack.optimize.fold_width_stride import FoldWidthStridePass
from xir.transforms.xnnpack.schedule.band_spatial import BandSpatialPass
from xir.transforms.xnnpack.schedule.pad_channels import PadChannelsPass
from xir.transforms.xnnpack.schedule.split_columns import SplitColumnsPass
from xir.transforms.xnnpack.schedule.winograd_conv2d import WinogradConv2dPass

ACTIVATION, FILTER, RESULT = (f"!quant.uniform<i8:f32, {parameters}>" for parameters in ("0.5", "0.25", "4.0:-2"))


@proves(FoldWidthStridePass(), at_least=56, readings=[Reading(rounds=False)])
@disproves(
    "a filter padded on the other side",
    "missing = (skipped, kernel_width * step - skipped - op.kernel_width)",
    "missing = (kernel_width * step - skipped - op.kernel_width, skipped)",
)
def test_strided() -> Iterator[str]:
    """Convolutions of integers of every small geometry: a row of pixels with one or two channels, for all weights."""
    for channels, kernel, stride, left, right in product((1, 2), (1, 2, 3, 4), (2, 3), (0, 1, 2), (0, 1)):
        if left < kernel and right < kernel:
            graph = Graph()
            image = graph.input(1, 1, 6, channels, element=ACTIVATION)
            filter = graph.constant(1, 1, kernel, channels, element=FILTER)
            yield graph.text(graph.convolution(image, filter, [0, right, 0, left], [1, stride], RESULT))


PADDED = PadChannelsPass(cpu=str(Path(__file__).with_name("tiles_of_four.toml")))
"""By a profile in which products of whole tiles of four columns take a hundredth of the time, and nothing else any."""

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


@proves(PADDED, at_least=14)
@disproves(
    "weights for a new channel that are not zero",
    "padded = np.zeros(self.grown_shape(numbers.shape, axes), np.float32)",
    "padded = np.ones(self.grown_shape(numbers.shape, axes), np.float32)",
)
def test_padded_channels() -> Iterator[str]:
    """The channels of a convolution, with bias and to two others or without and to one, through a node, for all
    weights."""
    for make, (size, has_bias) in product(BETWEEN, ((5, True), (6, False))):
        graph = Graph()
        bias = [graph.constant(size)] if has_bias else []
        filter = graph.constant(size, 1, 1, 2)
        value = make(graph, graph.convolution(graph.input(1, 1, 2, 2), filter, [0] * 4, [1, 1], "", *bias))
        yield graph.text(
            *(graph.convolution(value, graph.constant(1, 1, 1, size), [0] * 4, [1, 1]) for _ in range(1 + has_bias))
        )


SPLIT = SplitColumnsPass(cpu=str(Path(__file__).with_name("small_cache.toml")))
"""By a profile in which nothing takes time but reading weights again, which a cache holds of one column."""


@proves(SPLIT, at_least=16)
@disproves("the first columns in each part", "rows = slice(begin, begin + size)", "rows = slice(0, size)")
def test_split_columns() -> Iterator[str]:
    """Linear layers and convolutions of two to five columns, with bias or bounds or without, for all weights."""
    nodes = (
        ("fully_connected", (2, 2), (2,)),
        ("conv2d", (1, 1, 3, 1), (1, 2, 1)),
    )
    for (name, shape, filters), columns, has_bias, bounds in product(
        nodes, (2, 5), (False, True), ("", "output_min = 0.0 : f32")
    ):
        graph = Graph()
        bias = [graph.constant(columns)] if has_bias else []
        operands = [graph.input(*shape), graph.constant(columns, *filters), *bias]
        result = (2, columns) if name == "fully_connected" else (1, 1, 2, columns)
        yield graph.text(graph.node(f"{name} {{}} {{{bounds}}}", operands, result))


@proves(
    WinogradConv2dPass(form=(2, 2)),
    WinogradConv2dPass(form=(2, 2), by_gemm=True),
    WinogradConv2dPass(form=(1, 2)),
    WinogradConv2dPass(form=(2, 1), by_gemm=True),
    at_least=3,
    readings=[NUMBERS],
)
@disproves(
    "a bias at another product",
    "return np.multiply.outer(shares.T, values).astype(np.float32)",
    "return np.multiply.outer(shares.T[::-1], values).astype(np.float32)",
    "transforms.xnnpack.composed_convolutions.nodes",
)
def test_products_of_tiles() -> Iterator[str]:
    """F(2, 3) along one dimension and along both, of images of odd and even sizes with two channels, a result and a
    bias; filters are multiples of 4, so that their transforms are not rounded."""
    for (height, width), padding in product(((3, 4), (5, 3), (4, 4)), (0, 1)):
        graph = Graph()
        random = np.random.default_rng(height)
        filter = graph.number((4 * random.integers(-3, 4, (1, 3, 3, 2))).astype(np.float32))
        bias = graph.number(np.array([5], np.float32))
        yield graph.text(graph.convolution(graph.input(1, height, width, 2), filter, [padding] * 4, [1, 1], "", bias))


@proves(AvoidXnnpackFaultsPass(), at_least=9, readings=[NUMBERS])
def test_smallest_graphs() -> Iterator[str]:
    """The graphs that show the faults that the pass keeps graphs from."""
    return (fault.smallest for fault in KNOWN_FAULTS if fault.kept_by == "avoid-xnnpack-faults")


@proves(AvoidXnnpackFaultsPass(), at_least=6)
def test_turned_transposes() -> Iterator[str]:
    """Products of a transposed value with itself."""
    for perm, transposed in product(permutations(range(3)), (False, True)):
        graph = Graph()
        value = graph.transpose(graph.input(2, 2, 2), perm)
        yield graph.text(graph.matrix_multiply(value, value, transposed=transposed))


@proves(AvoidXnnpackFaultsPass(), at_least=8, readings=[NUMBERS])
@disproves(
    "the other operand copied",
    "if operand is value:",
    "if operand is not value:",
    "transforms.xnnpack.known_faults.fault",
)
def test_extremes() -> Iterator[str]:
    """Maxima and minima of what is 0 or 1 by XNNPACK's count, as left or right operand."""
    for kind, number, swapped, shape in product(("maximum", "minimum"), (0, 1), (False, True), ((), (2,), (3, 2))):
        graph = Graph()
        factor = graph.number(np.array([number], np.float32)[: len(shape) or 1])
        value = graph.binary("multiply", graph.input(*shape), factor)
        value = graph.unary("abs", graph.binary("subtract", value, graph.number(np.array([0], np.float32))))
        other = graph.input(3, 2)
        yield graph.text(graph.binary(kind, *((other, value) if swapped else (value, other))))


@proves(BandSpatialPass(max_arena=150), BandSpatialPass(max_arena=180), at_least=9)
@disproves(
    "rows of a band one too late",
    "begin = first * stride - ints(op.padding)[0]",
    "begin = first * stride - ints(op.padding)[0] + (first > 0)",
    "transforms.xnnpack.schedule._bands",
)
def test_bands() -> Iterator[str]:
    """Two filters over a column of pixels with more channels between them, in two to eight bands, for all weights."""
    for (first, second), (above, below), stride in product(((3, 3), (2, 3)), ((0, 0), (1, 1), (1, 0)), (1, 2)):
        graph = Graph()
        image = graph.input(1, 7, 1, 1)
        wide = graph.convolution(image, graph.constant(4, first, 1, 1), [above, 0, below, 0], [1, 1])
        kept = graph.unary("exp", wide)
        yield graph.text(graph.convolution(kept, graph.constant(1, second, 1, 4), [above, 0, below, 0], [stride, 1]))
