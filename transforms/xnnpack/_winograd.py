"""Convolutions of stride 1 composed of nodes that multiply less: minimal filtering along the height, the width or both.

    for each row i of B:      a depthwise convolution of the image along the height, stride m
    stacks of rows i, joined along the channels
      for each row j of B:    columns = depthwise convolution of a stack along the width, stride m
                              product = conv2d of `columns` by the filters for (i, j), a group for each i of the stack
      the products' sums along the width, joined along the channels: m neighbouring pixels
    the channels of each i, cut out; their sums along the height, joined along the width: m neighbouring rows
    reshape to the image, and a slice where m does not divide it

The depthwise convolutions read strided, dilated and padded, so that nothing is copied to be transformed, and pixels and
rows that are joined lie where the image wants them. What is done for a stack at once takes half of the nodes that it
would take row by row, which is worth two copies: a node costs time to lower and to load, and at its end threads wait
for each other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Literal, TypeVar

from xir.dialects.xnnpack.shape import MOST_JOINED
from xir.transforms.xnnpack._toom_cook import ERROR_GROWTH, Transforms, transforms

HEIGHT, WIDTH, CHANNELS = 1, 2, 3
"""The dimensions of an image [N, H, W, C]."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Axis:
    """One spatial dimension of a convolution of stride and dilation 1."""

    size: int
    taps: int
    before: int
    """Zeros in front of the image."""
    after: int

    @property
    def output(self) -> int:
        return self.size + self.before + self.after - self.taps + 1


@dataclass(frozen=True)
class Form:
    """How many neighbouring outputs are computed together, along the height and the width; 1 is direct."""

    height: int
    width: int

    @property
    def is_direct(self) -> bool:
        return self == DIRECT

    def __str__(self) -> str:
        return f"F({self.height}x{self.width})"


DIRECT = Form(1, 1)

OUTPUTS = {3: (2, 4), 5: (2,)}
"""Taps -> how many outputs can be computed together."""


@dataclass(frozen=True)
class Convolution:
    """What a form is made of."""

    height: Axis
    width: Axis
    input_channels: int
    output_channels: int

    def forms(self, max_error: float) -> list[Form]:
        """The forms that compute it, but the direct one, with at most so many times its error."""
        heights, widths = ((1, *OUTPUTS.get(axis.taps, ())) for axis in (self.height, self.width))
        every = [Form(height, width) for height in heights for width in widths]
        return [form for form in every if form != DIRECT and self.error_growth(form) <= max_error]

    def error_growth(self, form: Form) -> float:
        """How many times the error of the direct form a form may make."""
        pairs = ((form.height, self.height.taps), (form.width, self.width.taps))
        return math.prod(ERROR_GROWTH[outputs + taps - 1] for outputs, taps in pairs if outputs > 1)


@dataclass(frozen=True)
class Factor:
    """A product's filters: which rows of G are applied along the height and the width."""

    rows: tuple[int, ...]
    """A group of channels for each; none along a direct dimension."""
    column: int | None
    """None along a direct dimension."""

    @property
    def groups(self) -> int:
        return max(len(self.rows), 1)


class Nodes(ABC, Generic[Value]):
    """What nodes are made by: one builds them, another adds up what they cost."""

    @abstractmethod
    def depthwise(self, value: Value, taps: Sequence[Fraction], axis: int, window: Window) -> Value:
        """A depthwise convolution along one dimension, with the same filter for each channel."""

    @abstractmethod
    def product(self, value: Value, factor: Factor, size: tuple[int, int]) -> Value:
        """A convolution by a transformed filter, whose result has `size`; direct dimensions keep taps and padding."""

    @abstractmethod
    def binary(self, kind: Literal["add", "subtract"], lhs: Value, rhs: Value) -> Value:
        """A sum or difference."""

    @abstractmethod
    def scaled(self, value: Value, factor: Fraction) -> Value:
        """A multiple; the value itself for one."""

    @abstractmethod
    def bounded(self, value: Value) -> Value:
        """A part of the result within the convolution's bounds; the value itself if it has none."""

    @abstractmethod
    def joined(self, values: Sequence[Value], axis: int) -> Value:
        """The values one behind the other."""

    @abstractmethod
    def neighbours(self, value: Value, count: int) -> Value:
        """Channels of `count` neighbouring pixels as the pixels that they are."""

    @abstractmethod
    def group(self, value: Value, index: int, count: int) -> Value:
        """One of `count` groups of channels."""

    @abstractmethod
    def image(self, value: Value, computed: tuple[int, int], kept: tuple[int, int]) -> Value:
        """The elements as an image, cut to the size that is asked for."""


@dataclass(frozen=True)
class Window:
    """How a depthwise convolution moves along its dimension."""

    before: int
    after: int
    stride: int
    dilation: int
    output: int


def compose(convolution: Convolution, form: Form, nodes: Nodes[Value], image: Value) -> Value:
    """Make the nodes of a form, and return the result."""
    vertical, horizontal = convolution.height, convolution.width
    tiles = (-(-vertical.output // form.height), -(-horizontal.output // form.width))
    rows = transforms(form.height, vertical.taps) if form.height > 1 else None
    columns = transforms(form.width, horizontal.taps) if form.width > 1 else None
    bands = [image]
    if rows is not None:
        bands = [transformed(nodes, image, rows, row, HEIGHT, vertical, tiles[0]) for row in range(rows.points)]
    if columns is None:
        bands = [nodes.product(band, Factor((row,), None), tiles) for row, band in enumerate(bands)]
    else:
        stacks = stacked(rows.points) if rows else [()]
        done: list[Value] = []
        for stack in stacks:
            joined = nodes.joined([bands[row] for row in stack], CHANNELS) if stack else image
            products: list[Value] = []
            for column in range(columns.points):
                value = transformed(nodes, joined, columns, column, WIDTH, horizontal, tiles[1])
                products.append(nodes.product(value, Factor(stack, column), tiles))
            sums = reduced(nodes, products, columns)
            wide = nodes.joined(sums if stack else list(map(nodes.bounded, sums)), CHANNELS)
            if stack:
                wide = nodes.neighbours(wide, form.width)
                done += [nodes.group(wide, index, len(stack)) for index in range(len(stack))]
            else:
                done.append(wide)
        bands = done
    result = nodes.joined(list(map(nodes.bounded, reduced(nodes, bands, rows))), WIDTH) if rows else bands[0]
    computed = (tiles[0] * form.height, tiles[1] * form.width)
    return nodes.image(result, computed, (vertical.output, horizontal.output))


def stacked(rows: int) -> list[tuple[int, ...]]:
    """The rows of B in as few stacks of one size as XNNPACK can join."""
    size = next(size for size in range(MOST_JOINED, 0, -1) if rows % size == 0)
    return [tuple(range(first, first + size)) for first in range(0, rows, size)]


def transformed(
    nodes: Nodes[Value], value: Value, matrices: Transforms, point: int, dimension: int, axis: Axis, tiles: int
) -> Value:
    """The inputs' transform to one point along one dimension: m-th pixels of a filter with the row of B as taps."""
    taps = matrices.inputs[point]
    used = [index for index, tap in enumerate(taps) if tap]
    first, step = used[0], math.gcd(*(index - used[0] for index in used))
    if first > axis.before:
        # A window cannot begin inside of the image, so it begins at its edge, with taps that are zero.
        first, step = axis.before, 1
    kept = taps[first : used[-1] + 1 : step]
    reach = (tiles - 1) * matrices.outputs + (len(kept) - 1) * step + 1
    before = axis.before - first
    window = Window(before, max(reach - before - axis.size, 0), matrices.outputs, step, tiles)
    return nodes.depthwise(value, kept, dimension, window)


def reduced(nodes: Nodes[Value], products: Sequence[Value], matrices: Transforms) -> list[Value]:
    """The outputs' transform, A: m values of m + r - 1.

    The products at a and -a are used by their sum in even rows of A, and by their difference in odd ones. Row p + 2 has
    a² times the factors of row p: with two pairs and b² = a² + 1 it is a²·(s + t) + t, where row p is s + t.
    """
    zero, *paired, infinity = products
    pairs = list(zip(paired[::2], paired[1::2], matrices.pairs, strict=True))
    even = [nodes.binary("add", plus, minus) for plus, minus, _ in pairs]
    odd = [nodes.scaled(nodes.binary("subtract", plus, minus), a) for plus, minus, a in pairs]
    sums = [terms[0] if len(terms) == 1 else nodes.binary("add", *terms) for terms in (even, odd)]
    results = [*sums]
    if matrices.outputs == 4:
        square = matrices.pairs[0] ** 2
        results += [
            nodes.binary("add", nodes.scaled(total, square), terms[1])
            for total, terms in zip(sums, (even, odd), strict=True)
        ]
    results[0] = nodes.binary("add", results[0], zero)
    results[-1] = nodes.binary("add", results[-1], infinity)
    return results
