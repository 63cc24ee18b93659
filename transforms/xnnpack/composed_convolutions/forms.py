"""Convolutions composed of nodes that take less time: minimal filtering along the height, the width or both.

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

XNNPACK has two kernels for products: GEMM for plain 1x1 convolutions, and IGEMM, which finds its rows by pointers, for
those with taps, strides or groups. Where IGEMM is much slower, a form *by GEMM* has plain products alone: no rows are
stacked, and along direct dimensions the pixels under a filter are gathered first (im2col):

    a frame of zeros
    for each column of the filter:   a slice of the image, of every s-th pixel;  joined along the channels
    for each row of the filter:      a slice of that, of every s-th row;         joined along the channels

Without filtering along either dimension, the rows' slices are multiplied one after the other and the products summed,
where that moves less than to join them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Generic, Literal, TypeVar

from xir.dialects.xnnpack.shape import MOST_JOINED
from xir.ir.shapes import Shape
from xir.transforms.xnnpack.composed_convolutions.toom_cook import ERROR_GROWTH, Transforms, transforms

HEIGHT, WIDTH, CHANNELS = 1, 2, 3
"""The dimensions of an image [N, H, W, C]."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Axis:
    """One spatial dimension of a convolution."""

    size: int
    taps: int
    before: int
    """Zeros in front of the image."""
    after: int
    stride: int = 1
    dilation: int = 1

    @property
    def window(self) -> int:
        """The pixels from the first tap to the last one."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def output(self) -> int:
        return (self.size + self.before + self.after - self.window) // self.stride + 1

    @property
    def is_plain(self) -> bool:
        """Whether each pixel makes one, so that nothing needs to be gathered."""
        return self == Axis(self.size, 1, 0, 0)

    @property
    def outputs(self) -> tuple[int, ...]:
        """How many outputs can be computed together."""
        return (1, *OUTPUTS.get(self.taps, ())) if self.stride == self.dilation == 1 else (1,)


@dataclass(frozen=True)
class Form:
    """How many neighbouring outputs are computed together, along the height and the width; 1 is direct."""

    height: int
    width: int
    by_gemm: bool = False
    """Whether all products are plain ones."""

    @property
    def is_direct(self) -> bool:
        """Whether it is the convolution itself, as one node."""
        return self == DIRECT

    @property
    def is_im2col(self) -> bool:
        """Whether it is one plain product of the pixels under the filter."""
        return self == IM2COL

    def __str__(self) -> str:
        if self.is_im2col:
            return "im2col"
        return f"F({self.height}x{self.width}){' by GEMM' if self.by_gemm else ''}"


DIRECT = Form(1, 1)
IM2COL = Form(1, 1, by_gemm=True)

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
        tiles = [(height, width) for height in self.height.outputs for width in self.width.outputs]
        stacking = [Form(*tile) for tile in tiles if tile != (1, 1)]
        plain = [Form(*tile, by_gemm=True) for tile in tiles]
        every = [*stacking, *(form for form in plain if self.differs_by_gemm(form))]
        return [form for form in every if self.error_growth(form) <= max_error]

    def differs_by_gemm(self, form: Form) -> bool:
        """Whether a form by GEMM is another than the one of the same tiles: it stacks no rows, or gathers pixels."""
        return bool(self.gathered_axes(form)) or (form.height > 1 and form.width > 1)

    def gathered_axes(self, form: Form) -> list[int]:
        """The dimensions along which a form by GEMM gathers pixels: direct ones where one pixel is not enough."""
        pairs = ((WIDTH, form.width, self.width), (HEIGHT, form.height, self.height))
        return [axis for axis, outputs, of in pairs if outputs == 1 and not of.is_plain]

    def error_growth(self, form: Form) -> float:
        """How many times the error of the direct form a form may make."""
        pairs = ((form.height, self.height.taps), (form.width, self.width.taps))
        return math.prod(ERROR_GROWTH[outputs + taps - 1] for outputs, taps in pairs if outputs > 1)


@dataclass(frozen=True)
class Factor:
    """A product's filters: which rows of G are applied along the height and the width, and what is left to the node."""

    rows: tuple[int, ...]
    """A group of channels for each; none along a direct dimension."""
    column: int | None
    """None along a direct dimension."""
    height: Axis
    width: Axis
    """What the product's own filter does."""
    part: tuple[int, int] | None = None
    """Which of how many equal parts of the filter's taps; None for all of them."""

    @property
    def groups(self) -> int:
        return max(len(self.rows), 1)

    @property
    def taps(self) -> tuple[int, int]:
        return self.height.taps, self.width.taps

    @property
    def is_plain(self) -> bool:
        """Whether GEMM computes it."""
        return self.groups == 1 and self.height.is_plain and self.width.is_plain


class Nodes(ABC, Generic[Value]):
    """What nodes are made by: one builds them, another adds up what they cost."""

    @abstractmethod
    def shape(self, value: Value) -> Shape:
        """[N, H, W, C]."""

    @abstractmethod
    def depthwise(self, value: Value, taps: Sequence[Fraction], axis: int, window: Window) -> Value:
        """A depthwise convolution along one dimension, with the same filter for each channel."""

    @abstractmethod
    def product(self, value: Value, factor: Factor, is_result: bool = False) -> Value:
        """A convolution by a transformed filter; one that is the result has the convolution's bounds."""

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
    def concatenated(self, values: Sequence[Value], axis: int) -> Value:
        """At least two values one behind the other, and at most as many as XNNPACK joins."""

    @abstractmethod
    def reshaped(self, value: Value, shape: Shape, is_copied: bool = False) -> Value:
        """The same elements in another shape; XNNPACK copies them if several nodes read the result or the value."""

    @abstractmethod
    def sliced(self, value: Value, offsets: Shape, sizes: Shape) -> Value:
        """A part of a value."""

    @abstractmethod
    def padded(self, value: Value, before: Shape, after: Shape) -> Value:
        """A value with zeros around it."""

    def joined(self, values: Sequence[Value], axis: int) -> Value:
        """The values one behind the other; one alone is what it was."""
        while len(values) > 1:
            groups = [values[first : first + MOST_JOINED] for first in range(0, len(values), MOST_JOINED)]
            values = [self.concatenated(group, axis) if len(group) > 1 else group[0] for group in groups]
        return values[0]

    def neighbors(self, value: Value, count: int, is_copied: bool) -> Value:
        """Channels of `count` neighbouring pixels as the pixels that they are."""
        batch, height, width, channels = self.shape(value)
        return self.reshaped(value, (batch, height, width * count, channels // count), is_copied)

    def group(self, value: Value, index: int, count: int) -> Value:
        """One of `count` groups of channels."""
        channels = self.shape(value)[CHANNELS] // count
        return self.cut(value, CHANNELS, index * channels, channels)

    def cut(self, value: Value, axis: int, first: int, size: int) -> Value:
        """A part along one dimension; the value itself if it is all."""
        shape = self.shape(value)
        if shape[axis] == size:
            return value
        return self.sliced(value, with_size((0,) * len(shape), axis, first), with_size(shape, axis, size))

    def every(self, value: Value, axis: int, first: int, stride: int, count: int) -> Value:
        """`count` pixels along the height or the width, the first one and each that is `stride` further.

        Neighbouring pixels are parts of one in the next dimension, of which the first or another one is cut out.
        """
        if stride == 1:
            return self.cut(value, axis, first, count)
        shape, inner = self.shape(value), axis + 1
        apart = with_size(with_size(shape, axis, shape[axis] // stride), inner, shape[inner] * stride)
        offsets = with_size(with_size((0,) * len(shape), axis, first // stride), inner, first % stride * shape[inner])
        return self.sliced(self.reshaped(value, apart, is_copied=True), offsets, with_size(shape, axis, count))

    def image(self, value: Value, computed: tuple[int, int], kept: tuple[int, int]) -> Value:
        """The elements as an image, cut to the size that is asked for."""
        batch, *sizes = self.shape(value)
        channels = prod(sizes) // prod(computed)
        value = self.reshaped(value, (batch, *computed, channels))
        return value if kept == computed else self.sliced(value, (0, 0, 0, 0), (batch, *kept, channels))


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
    if form.is_im2col:
        return im2col(convolution, nodes, image)
    if form.by_gemm:
        image, convolution = gathered(convolution, form, nodes, image)
    vertical, horizontal = convolution.height, convolution.width
    tiles = (-(-vertical.output // form.height), -(-horizontal.output // form.width))
    rows = transforms(form.height, vertical.taps) if form.height > 1 else None
    columns = transforms(form.width, horizontal.taps) if form.width > 1 else None
    heights = Axis(tiles[0], 1, 0, 0) if rows else vertical
    widths = Axis(tiles[1], 1, 0, 0) if columns else horizontal
    if rows is None and columns is None:
        return nodes.product(image, Factor((), None, heights, widths), is_result=True)
    bands = [image]
    if rows is not None:
        bands = [transformed(nodes, image, rows, row, HEIGHT, vertical, tiles[0]) for row in range(rows.points)]
    if columns is None:
        bands = [nodes.product(band, Factor((row,), None, heights, widths)) for row, band in enumerate(bands)]
    else:
        stacks = stacked(rows.points, 1 if form.by_gemm else MOST_JOINED) if rows else [()]
        done: list[Value] = []
        for stack in stacks:
            joined = nodes.joined([bands[row] for row in stack], CHANNELS) if stack else image
            products: list[Value] = []
            for column in range(columns.points):
                value = transformed(nodes, joined, columns, column, WIDTH, horizontal, tiles[1])
                products.append(nodes.product(value, Factor(stack, column, heights, widths)))
            sums = reduced(nodes, products, columns)
            wide = nodes.joined(sums if stack else list(map(nodes.bounded, sums)), CHANNELS)
            if stack:
                wide = nodes.neighbors(wide, form.width, is_copied=len(stack) > 1)
                done += [nodes.group(wide, index, len(stack)) for index in range(len(stack))]
            else:
                done.append(wide)
        bands = done
    result = nodes.joined(list(map(nodes.bounded, reduced(nodes, bands, rows))), WIDTH) if rows else bands[0]
    computed = (tiles[0] * form.height, tiles[1] * form.width)
    return nodes.image(result, computed, (vertical.output, horizontal.output))


def im2col(convolution: Convolution, nodes: Nodes[Value], image: Value) -> Value:
    """A plain product of the pixels under the filter, or the sum of products of those under each of its rows."""
    height, width = convolution.height, convolution.width
    pixels = Axis(height.output, 1, 0, 0), Axis(width.output, 1, 0, 0)
    image = framed(convolution, DIRECT, nodes, image)
    if not sums_rows(convolution):
        for axis, of in ((WIDTH, width), (HEIGHT, height)):
            image = nodes.joined(list(under_taps(nodes, image, axis, of)), CHANNELS)
        return nodes.product(image, Factor((), None, *pixels), is_result=True)
    image = nodes.joined(list(under_taps(nodes, image, WIDTH, width)), CHANNELS)
    total: Value | None = None
    for row, pixel_row in enumerate(under_taps(nodes, image, HEIGHT, height)):
        product = nodes.product(pixel_row, Factor((), None, *pixels, part=(row, height.taps)))
        total = product if total is None else nodes.binary("add", total, product)
    assert total is not None
    return nodes.bounded(total)


def sums_rows(convolution: Convolution) -> bool:
    """Whether adding up the products of a filter's rows moves less than joining what they multiply.

    A join reads and writes each pixel under the filter, a sum reads two results and writes one. Several smaller
    matrices of weights are better, too: XNNPACK reads a matrix for every few rows of pixels again.
    """
    rows = convolution.height.taps
    joined = 2 * rows * convolution.width.taps * convolution.input_channels
    return rows > 1 and 3 * (rows - 1) * convolution.output_channels < joined


def gathered(convolution: Convolution, form: Form, nodes: Nodes[Value], image: Value) -> tuple[Value, Convolution]:
    """The pixels under the filter along a direct dimension as channels, in the filter's own order, and what is left of
    the convolution: one tap along that."""
    image = framed(convolution, form, nodes, image)
    axes, channels = {HEIGHT: convolution.height, WIDTH: convolution.width}, convolution.input_channels
    for axis in convolution.gathered_axes(form):
        of = axes[axis]
        image = nodes.joined(list(under_taps(nodes, image, axis, of)), CHANNELS)
        channels *= of.taps
        axes[axis] = Axis(of.output, 1, 0, 0)
    return image, Convolution(axes[HEIGHT], axes[WIDTH], channels, convolution.output_channels)


def framed(convolution: Convolution, form: Form, nodes: Nodes[Value], image: Value) -> Value:
    """The image with the zeros around it that gathering along direct dimensions reads."""
    axes = {HEIGHT: convolution.height, WIDTH: convolution.width}
    frame = {axis: (axes[axis].before, frame_after(axes[axis])) for axis in convolution.gathered_axes(form)}
    before, after = (tuple(frame.get(axis, (0, 0))[end] for axis in range(4)) for end in range(2))
    return nodes.padded(image, before, after) if any((*before, *after)) else image


def under_taps(nodes: Nodes[Value], image: Value, axis: int, of: Axis) -> Iterator[Value]:
    """For each tap along a dimension, the pixels of a framed image that it multiplies, made as they are asked for."""
    if of.is_plain:
        yield image
        return
    for tap in range(of.taps):
        yield nodes.every(image, axis, tap * of.dilation, of.stride, of.output)


def frame_after(axis: Axis) -> int:
    """The zeros behind an image that is gathered: as many as the last window needs, in whole strides."""
    read = max((axis.output - 1) * axis.stride + axis.window, axis.before + axis.size)
    return -(-read // axis.stride) * axis.stride - axis.before - axis.size


def stacked(rows: int, most: int) -> list[tuple[int, ...]]:
    """The rows of B in as few stacks of one size as `most` allows."""
    size = next(size for size in range(most, 0, -1) if rows % size == 0)
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


def with_size(shape: Shape, axis: int, size: int) -> Shape:
    """A shape with another size along one dimension."""
    return (*shape[:axis], size, *shape[axis + 1 :])
