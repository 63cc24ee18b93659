"""Passes that move transposes and slices through subgraphs, for all weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, permutations, product

from proofs.graphs import Graph, Value
from proofs.proof import disproves, proves
from xir.transforms.xnnpack.optimize.bubble_up_slice import BubbleUpSlicePass
from xir.transforms.xnnpack.optimize.propagate_layout import PropagateLayoutPass
from xir.transforms.xnnpack.optimize.split_fully_connected import SplitFullyConnectedPass

SIZES = (2, 2, 2, 1)
PERMS = {
    2: list(permutations(range(2))),
    3: list(permutations(range(3))),
    4: [(0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0)],
}

BETWEEN: tuple[Callable[[Graph, Value], Value], ...] = (
    lambda graph, x: graph.binary("multiply", x, graph.constant(x.shape[-1])),
    lambda graph, x: graph.slice(x, [(axis % size, 1) for axis, size in enumerate(x.shape)]),
    lambda graph, x: graph.unary("hardswish", x),
    lambda graph, x: graph.binary("subtract", graph.constant(*x.shape[-2:-1], 1), x),
    lambda graph, x: graph.binary("divide", graph.constant(*x.shape), x),
    lambda graph, x: graph.clamp(x, -1.0, 0.5),
    lambda graph, x: graph.pad(x, [(axis, 1) for axis in range(len(x.shape))], 0.5),
    lambda graph, x: graph.concatenate([x, graph.unary("negate", x)], len(x.shape) - 1),
    lambda graph, x: graph.binary("add", graph.unary("exp", x), graph.transpose(x, range(len(x.shape)))),
)
"""What stands between two transposes, each made of a value."""


@proves(PropagateLayoutPass(), at_least=(2 + 20 + 5) * len(BETWEEN))
@disproves(
    "a constant permuted before it has all dimensions",
    "array.reshape((1,) * (len(layout) - array.ndim) + array.shape)",
    "array.reshape(array.shape + (1,) * (len(layout) - array.ndim))",
)
@disproves(
    "offsets that stay where the layout moves",
    "u32s([ints(values)[axis] for axis in layout])",
    "u32s(ints(values))",
    "transforms.xnnpack.optimize._layouts",
)
def test_between_transposes() -> Iterator[str]:
    """A node between all pairs of transposes."""
    for make, (rank, perms) in product(BETWEEN, PERMS.items()):
        for first, second in product(perms, repeat=2):
            graph = Graph()
            value = make(graph, graph.transpose(graph.input(*SIZES[:rank]), first))
            yield graph.text(graph.transpose(value, second))


@proves(PropagateLayoutPass(), at_least=100)
@disproves("an inverse left out", "step = compose(inverse(held.perm), layout)", "step = compose(held.perm, layout)")
def test_values_that_meet() -> Iterator[str]:
    """Two inputs that meet, each in a layout of its own, and of which one is read behind as well."""
    for first, second, third in product(permutations(range(3)), repeat=3):
        graph = Graph()
        left, right = (graph.transpose(graph.input(2, 2, 2), perm) for perm in (first, second))
        value = graph.binary("subtract", graph.unary("exp", left), right)
        yield graph.text(graph.transpose(value, third), graph.unary("sigmoid", right))


@proves(PropagateLayoutPass(), at_least=4)
def test_convolutions() -> Iterator[str]:
    """A convolution in channels last, between transposes as rules write them, with a residual."""
    for padding, stride in product((0, 1), (1, 2)):
        graph = Graph()
        image = graph.transpose(graph.input(1, 2, 3, 3), (0, 2, 3, 1))
        made = graph.convolution(image, graph.constant(2, 2, 2, 2), [padding] * 4, [stride] * 2)
        first = graph.unary("hardswish", graph.transpose(made, (0, 3, 1, 2)))
        again = graph.convolution(graph.transpose(first, (0, 2, 3, 1)), graph.constant(2, 1, 1, 2), [0] * 4, [1, 1])
        yield graph.text(graph.binary("add", first, graph.transpose(again, (0, 3, 1, 2))))


MADE: tuple[Callable[[Graph], Value], ...] = (
    lambda graph: graph.unary("exp", graph.input(3, 3)),
    lambda graph: graph.fully_connected(graph.input(3, 2), graph.constant(3, 2), graph.constant(3)),
    lambda graph: graph.fully_connected(graph.input(3, 2), graph.constant(2, 3), transposed=True),
    lambda graph: graph.matrix_multiply(graph.input(2, 2, 3), graph.input(2, 3, 2)),
    lambda graph: graph.matrix_multiply(graph.input(2, 3, 2), graph.input(2, 3, 2), transposed=True),
    lambda graph: graph.binary("subtract", graph.input(3, 1), graph.input(3)),
    lambda graph: graph.binary("divide", graph.input(2, 3), graph.constant(2, 3)),
    lambda graph: graph.transpose(graph.input(2, 3, 2), (2, 0, 1)),
    lambda graph: graph.reshape(graph.input(3, 4), (3, 2, 2)),
    lambda graph: graph.clamp(graph.input(3, 3), 0.0, None),
)


@proves(BubbleUpSlicePass(), at_least=5 * len(MADE))
@disproves(
    "rows cut one later", '"offsets": u32s(offsets)', '"offsets": u32s([max(offset - 1, 0) for offset in offsets])'
)
def test_slices_that_move_up() -> Iterator[str]:
    """A node behind which every box but the whole is cut."""
    for make in MADE:
        shape = make(Graph()).shape
        ranges = (
            [(start, stop - start) for start in range(size) for stop in range(start + 1, size + 1)] for size in shape
        )
        for box in product(*ranges):
            if any(start or size < whole for (start, size), whole in zip(box, shape, strict=True)):
                graph = Graph()
                yield graph.text(graph.slice(make(graph), box))


@proves(SplitFullyConnectedPass(), at_least=48)
@disproves(
    "columns of another slice",
    "axis = 0 if op.transpose_weights is None else 1",
    "axis, rows = (0 if op.transpose_weights is None else 1), rows[::-1]",
)
def test_split_columns() -> Iterator[str]:
    """A fully connected node whose four columns are cut in two or three, behind moves."""
    cut = ((0, 1, 4), (0, 2, 4), (0, 1, 2, 4), (1, 3, 4))
    for move, transposed, has_bias, cuts in product(("", "transpose", "reshape"), (False, True), (False, True), cut):
        graph = Graph()
        filter = graph.constant(2, 4) if transposed else graph.constant(4, 2)
        bias = [graph.constant(4)] if has_bias else []
        value = graph.fully_connected(graph.input(3, 2), filter, *bias, transposed=transposed)
        if move == "transpose":
            value = graph.transpose(value, (1, 0))
        if move == "reshape":
            value = graph.reshape(value, (1, 3, 4))
        axis = value.shape.index(4)
        boxes = (
            [(start, stop - start) if at == axis else (0, size) for at, size in enumerate(value.shape)]
            for start, stop in pairwise(cuts)
        )
        yield graph.text(*(graph.slice(value, box) for box in boxes))
