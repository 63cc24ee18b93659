"""Passes that work on integers of quantised types and on what converts, for each integer of their operands.

`fold-qdq`: scales are powers of 2 and biases multiples of their products, so that what the pass makes integers of is
one already; elsewhere it rounds, as `Numerics.REQUANTIZED` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np

from proofs.graphs import Graph, Value
from proofs.proof import NUMBERS, Reading, disproves, proves
from xir.transforms.xnnpack.finish.isolate_tables import IsolateTablesPass
from xir.transforms.xnnpack.finish.make_bit_exact import MakeBitExactPass
from xir.transforms.xnnpack.optimize.fold_qdq import FoldQdqPass
from xir.transforms.xnnpack.optimize.fuse_conv_relu import FuseConvReluPass
from xir.transforms.xnnpack.optimize.propagate_converts import PropagateConvertsPass
from xir.transforms.xnnpack.schedule.widen_depthwise import WidenDepthwisePass
from xir.transforms.xnnpack.schedule.widen_products import WidenProductsPass

HALVES = "!quant.uniform<i8:f32, 0.5:3>"
TYPES = (HALVES, "!quant.uniform<i8:f32, 0.25:-128>", "!quant.uniform<u8:f32, 0.25:7>")
RESULTS = (HALVES, "!quant.uniform<i8:f32, 1.0:-128>", "!quant.uniform<u8:f32, 2.0:100>")
FOLD_QUANTIZE = "transforms.xnnpack.optimize._fold_quantize"
FRACTIONS = Reading(rounds=False)


@proves(FoldQdqPass(), at_least=70, every=5)
def test_binaries() -> Iterator[str]:
    """Nodes of two operands, of each pair of types, with and without a clamp behind."""
    for kind, left, right, bounded in product(("add", "subtract", "multiply"), TYPES, TYPES, (False, True)):
        for result in RESULTS[:2]:
            graph = Graph()
            first, second = (graph.convert(graph.input(1, element=each), "f32") for each in (left, right))
            value = graph.binary(kind, first, second)
            yield graph.text(graph.convert(graph.clamp(value, 0.0, 6.0) if bounded else value, result))


MOVES: tuple[Callable[[Graph, Value], Value], ...] = (
    lambda graph, x: graph.clamp(graph.slice(x, [(1, 1), (2, 1)]), -1.0, 3.0),
    lambda graph, x: graph.pad(x, [(1, 0), (0, 2)], 0.3),
    lambda graph, x: graph.transpose(x, (1, 0)),
    lambda graph, x: graph.reshape(x, (3, 2)),
    lambda graph, x: graph.slice(x, [(1, 1), (0, 2)]),
    lambda graph, x: graph.pad(x, [(1, 0), (0, 2)], 1.0),
    lambda graph, x: graph.pad(x, [(1, 0), (0, 2)], 1000.0),
    lambda graph, x: graph.concatenate([x, x], 1),
    lambda graph, x: graph.clamp(graph.slice(x, [(0, 1), (1, 1)]), -1.125, 2.9),
    lambda graph, x: graph.transpose(graph.pad(x, [(0, 1), (0, 0)], 0.0), (1, 0)),
)


@proves(FoldQdqPass(), at_least=12 * len(MOVES))
@disproves(
    "moves of integers with another zero",
    "return bool(dequantized(integers, element) == number)",
    "return True",
    "transforms.xnnpack.optimize._move_conversions",
)
@disproves(
    "a clamp that leaves out integers dropped",
    "return stored_bounds(bounds, element) == range_of(element)",
    "return stored_bounds(bounds, element)[0] == range_of(element)[0]",
    FOLD_QUANTIZE,
)
def test_moves() -> Iterator[str]:
    """A move between conversions; before a node in floating point; behind one."""
    for make, before, after in product(MOVES, (*TYPES, "f32"), (*TYPES, "f32")):
        if before == after == "f32":
            continue
        graph = Graph()
        value = graph.input(2, 3, element=before)
        value = make(graph, graph.unary("exp", value) if before == "f32" else graph.convert(value, "f32"))
        yield graph.text(graph.unary("exp", value) if after == "f32" else graph.convert(value, after))


FILTERS = ("!quant.uniform<i8<-127:127>:f32, 0.125>", "!quant.uniform<i8<-127:127>:f32:0, {0.125, 0.5}>")


@proves(FoldQdqPass(), at_least=64, readings=[NUMBERS], every=5)
@disproves(
    "a bias one too large",
    "integers = np.rint(numbers / scales)",
    "integers = np.rint(numbers / scales) + 1",
    FOLD_QUANTIZE,
)
def test_weighted_nodes() -> Iterator[str]:
    """Fully connected nodes and convolutions of integers, with a bias and without, with bounds and without."""
    flags = (False, True)
    for source, filter, result, bias, bounded, is_image in product(
        TYPES[:2], FILTERS, RESULTS[:2], flags, flags, flags
    ):
        graph = Graph()
        # Roundings of several variables that are rounded once more are too much for z3.
        weights = np.array([[-3], [2]]) if bounded else np.array([[1, -2, 127], [-127, 0, 5]])
        channels = weights.shape[1]
        kernel = graph.convert(graph.number(weights.reshape((2, 1, 1, -1) if is_image else (2, -1)), filter), "f32")
        added = [graph.number(np.array([2.0, -3.5]))] if bias else []
        x = graph.convert(graph.input(*((1, 1, 2) if is_image else (1,)), channels, element=source), "f32")
        if is_image:
            value = graph.convolution(x, kernel, [0] * 4, [1, 1], "", *added)
        else:
            value = graph.fully_connected(x, kernel, *added)
        yield graph.text(graph.convert(graph.clamp(value, 0.0, None) if bounded else value, result))


CLAMPS = ((0.0, None), (None, 6.0), (0.0, 6.0), (-1.0, 1.0), (7.0, 9.0), (-2.0, -1.5))
CLAMPED = tuple(
    f"!quant.uniform<i8:f32, {parameters}>" for parameters in ("0.5:3", "0.25:-128", "0.0625:127", "1.0", "0.03125:-3")
)


@proves(FuseConvReluPass(), at_least=30)
@disproves("a clamp's bound dropped", "high = min(producer.bounds[1], op.bounds[1])", "high = op.bounds[1]")
def test_clamps_of_numbers() -> Iterator[str]:
    """A clamp behind moves of another, of a sum and of a product."""
    for bounds, first in product(CLAMPS, (*CLAMPS, "sum", "product")):
        graph = Graph()
        if first == "product":
            value = graph.fully_connected(graph.input(2, 2), graph.constant(3, 2), graph.constant(3))
        elif isinstance(first, str):
            value = graph.binary("add", graph.input(2, 3), graph.input(3))
        else:
            value = graph.clamp(graph.input(2, 3), *first)
        yield graph.text(graph.clamp(graph.reshape(graph.transpose(value, (1, 0)), (6,)), *bounds))


def clamped(before: str, after: str) -> Iterator[str]:
    """Clamps from a type to another behind a clamp, and behind a sum."""
    for bounds, is_sum in product(CLAMPS, (False, True)):
        graph = Graph()
        x = graph.input(1, element="!quant.uniform<i8:f32, 0.125:-5>")
        value = graph.binary("add", x, x, before) if is_sum else graph.clamp(x, -3.0, 20.0, before)
        yield graph.text(graph.clamp(value, *bounds, element=after))


@proves(FuseConvReluPass(), at_least=150, readings=[FRACTIONS], every=7)
@disproves(
    "integers that end too early",
    "return max(low, clamp.bounds[0]) < lowest or min(high, clamp.bounds[1]) > highest",
    "return max(low, clamp.bounds[0]) < lowest",
)
def test_clamps_of_integers_that_keep_their_fractions() -> Iterator[str]:
    """From each type to each."""
    for before, after in product(CLAMPED, repeat=2):
        yield from clamped(before, after)


@proves(FuseConvReluPass(), at_least=45)
def test_clamps_of_integers_of_one_type() -> Iterator[str]:
    """Of each type."""
    for each in CLAMPED:
        yield from clamped(each, each)


EXACT_TYPES = TYPES[:2]
BOUNDS = ("", "output_min = 0.0 : f32", "output_min = -1.25 : f32, output_max = 5.9 : f32")


@proves(MakeBitExactPass(), at_least=32, readings=[NUMBERS])
@disproves("a product's bounds dropped", "if op.is_bounded:", "if not op.is_bounded:")
def test_exact_products() -> Iterator[str]:
    """Of two inputs, of an input with itself within bounds, and with a constant."""
    for left, right, result in product(EXACT_TYPES, repeat=3):
        graph = Graph()
        first, second = graph.input(2, element=left), graph.input(2, element=right)
        yield graph.text(graph.binary("multiply", first, second, result))
    for source, result, bounds in product(EXACT_TYPES, EXACT_TYPES, BOUNDS):
        graph = Graph()
        x = graph.input(1, element=source)
        yield graph.text(graph.node(f"binary multiply {{}} {{{bounds}}}", [x, x], (1,), result))
        graph = Graph()
        x, factor = graph.input(2, 2, element=source), graph.number(np.array([-3, 7]), source)
        yield graph.text(graph.binary("multiply", x, factor, result))


@proves(MakeBitExactPass(), at_least=24, readings=[NUMBERS])
@disproves("an average by one pixel too few", "1 / (height * width)", "1 / (height * width - 1)")
def test_exact_averages() -> Iterator[str]:
    """Images of up to four pixels, whose numbers are powers of 2."""
    sizes = ((1, 2), (2, 1), (2, 2))
    for (height, width), result, bounds, keeps in product(sizes, EXACT_TYPES, BOUNDS[:2], (False, True)):
        graph = Graph()
        x = graph.input(2, height, width, 2, element=HALVES)
        yield graph.text(graph.global_average(x, result, keep_dims=keeps, bounds=bounds))


@proves(IsolateTablesPass(), at_least=5)
def test_shared_conversions() -> Iterator[str]:
    """One conversion that up to three functions of 8-bit numbers read, and what is no function of one number."""
    for count in (1, 2, 3):
        graph = Graph()
        value = graph.convert(graph.input(2, element=HALVES), "f32")
        made = [graph.convert(graph.unary(kind, value), HALVES) for kind in ("abs", "exp", "negate")[:count]]
        yield graph.text(*made, graph.reshape(value, (1, 2)))
        graph = Graph()
        value = graph.convert(graph.input(2, element=HALVES), "f32")
        yield graph.text(*(graph.convert(graph.binary("multiply", value, value), HALVES) for _ in range(count)))


@proves(IsolateTablesPass(), at_least=8)
@disproves(
    "a copy that turns dimensions", "perm = u32s(range(rank_of(value)))", "perm = u32s(range(rank_of(value))[::-1])"
)
def test_long_chains() -> Iterator[str]:
    """Chains of nodes that are too long, in each of which numbers stay apart by their place."""
    for shape, length in product(((), (2,), (2, 2), (2, 1, 2)), (8, 9, 10, 12)):
        graph = Graph()
        value = graph.convert(graph.input(*shape, element=HALVES), "f32")
        for _ in range(length):
            value = graph.unary("sigmoid", value)
        yield graph.text(graph.convert(value, HALVES))


SHORT: tuple[Callable[[Graph, Value], Value], ...] = (
    lambda graph, x: x,
    lambda graph, x: graph.transpose(x, (1, 0)),
    lambda graph, x: graph.reshape(x, (3, 2)),
    lambda graph, x: graph.slice(x, [(1, 1), (0, 2)]),
    lambda graph, x: graph.pad(x, [(1, 0), (0, 2)], 0.5),
    lambda graph, x: graph.concatenate([x, graph.constant(2, 1, element=x.element)], 1),
    lambda graph, x: graph.transpose(graph.concatenate([x, x], 0), (1, 0)),
)


@proves(PropagateConvertsPass(), at_least=28)
@disproves(
    "a rounding that the program asks for left out",
    "return UNASKED in op.attributes and element_type",
    "return element_type",
)
def test_conversions() -> Iterator[str]:
    """To 16 bits, by the program or the compiler, a move, and back to fp32, where others may read what is between."""
    for make, element, is_asked, is_shared in product(SHORT, ("f16", "bf16"), (False, True), (False, True)):
        graph = Graph()
        value = graph.unary("exp", graph.input(2, 3))
        moved = make(graph, graph.convert(value, element, is_asked=is_asked))
        back = graph.unary("sigmoid", graph.convert(moved, "f32"))
        yield graph.text(back, *([graph.unary("negate", moved)] if is_shared else []))


WIDENED = ("!quant.uniform<i8:f32, 0.25:-128>", "!quant.uniform<i8:f32, 4.0:5>")
BIAS = "!quant.uniform<i32:f32:0, {0.125, 0.25}>"
WIDENING = "transforms.xnnpack.schedule._widening"
SLOW_INTEGERS = str(Path(__file__).with_name("tiles_of_four.toml"))
"""A profile in which products on integers take long."""


@proves(WidenDepthwisePass(cpu="x86"), at_least=8, readings=[NUMBERS])
@disproves(
    "weights in fp32 one step too large",
    "numbers = dequantized(numbers, element)",
    "numbers = dequantized(numbers + 1, element)",
    WIDENING,
)
def test_widened_depthwise() -> Iterator[str]:
    """Filters of 25 taps on small images, with scales of their own for two channels."""
    for result, has_bias, bounds in product(WIDENED, (False, True), ("", ", output_min = 0.0 : f32")):
        graph = Graph()
        image = graph.input(1, 2, 2, 2, element=HALVES)
        weights = np.arange(50).reshape((1, 5, 5, 2)) * 5 - 127
        filter = graph.number(weights, "!quant.uniform<i8<-127:127>:f32:3, {0.25, 0.5}>")
        bias = [graph.number(np.array([-100, 17]), BIAS)] if has_bias else []
        yield graph.text(graph.depthwise(image, filter, 2, result, *bias, bounds=bounds))


@proves(WidenProductsPass(cpu=SLOW_INTEGERS), at_least=12, readings=[NUMBERS])
@disproves("bounds lost in fp32", "properties=dict(op.properties),", "properties={},", WIDENING)
def test_widened_products() -> Iterator[str]:
    """1x1 convolutions and linear layers, two channels from two, with scales of their own."""
    nodes = (("conv2d", (1, 2, 1, 2), (2, 1, 1, 2)), ("fully_connected", (2, 2), (2, 2)))
    bounds_of = ("", "output_min = 0.0 : f32", "output_max = 5.5 : f32")
    for (name, shape, filters), result, has_bias, bounds in product(nodes, WIDENED, (False, True), bounds_of):
        graph = Graph()
        x = graph.input(*shape, element=HALVES)
        weights = np.array([[-127, 5], [88, 127]]).reshape(filters)
        filter = graph.number(weights, "!quant.uniform<i8<-127:127>:f32:0, {0.25, 0.5}>")
        bias = [graph.number(np.array([-100, 17]), BIAS)] if has_bias else []
        yield graph.text(graph.node(f"{name} {{}} {{{bounds}}}", [x, filter, *bias], shape, result))
