"""Pooling over windows: one dimension is that of an image of height 1, three are pooled in two steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, prod

import numpy as np
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import u32s
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.xnnpack.legalizations.convolution import image_shape, window
from xir.transforms.xnnpack.legalizations.dynamic_sizes import UNBOUNDED
from xir.transforms.xnnpack.legalizations.reduction import INDICES_USED, image_mean, max_over
from xir.transforms.xnnpack.legalizations.resampling import resampled
from xir.transforms.xnnpack.legalizations.resampling_weights import TOO_MANY_WEIGHTS, weights
from xir.transforms.xnnpack.legalizations.reshaping import joined
from xir.transforms.xnnpack.legalizations.rule import (
    DYNAMIC_PART,
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    Quantized,
    fixed,
    rule,
)
from xir.transforms.xnnpack.legalizations.shape import every
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END, pad_with, run
from xir.transforms.xnnpack.legalizations.special_functions import scaled

DYNAMIC_LAST_WINDOW = Refusal(
    "how far its last window reaches depends on a dynamic dimension",
    "pool with ceil_mode=False",
    example=call("edge.max_pool2d", self=tensor(1, 1, "?", 4), kernel_size=(2, 2), ceil_mode=True),
)


MaxPool = edge.MaxPool1dOp | edge.MaxPool2dOp | edge.MaxPool2dWithIndicesOp
AvgPool = edge.AvgPool1dOp | edge.AvgPool2dOp

Windows = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
"""Kernel, stride and padding, each of (height, width)."""


@dataclass(frozen=True)
class Pooling:
    """A pooling op over an NCHW image: all pairs are (height, width)."""

    image: SSAValue
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    size: tuple[int, int]
    """The size of the image."""
    result: tuple[int, int]
    """The size of the result."""
    ceil_mode: bool

    @property
    def padding_after(self) -> tuple[int, int]:
        """The padding below and to the right with which windows, rounded down, give exactly the result's size.

        With `ceil_mode` the last window may start inside and end outside, so this can be more than `padding`.
        """

        def after(axis: int) -> int:
            if isinstance(self.size[axis], SymbolicSize) or isinstance(self.result[axis], SymbolicSize):
                if self.ceil_mode:
                    raise DYNAMIC_LAST_WINDOW()
                return self.padding[axis]
            reach = (self.result[axis] - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1
            return max(self.padding[axis], reach - self.size[axis] - self.padding[axis])

        return after(0), after(1)


def pooling(op: MaxPool | AvgPool, b: NodeBuilder) -> Pooling:
    """The arguments of an op that pools one or two dimensions."""
    value, dims = op.self, 1 if isinstance(op, edge.MaxPool1dOp | edge.AvgPool1dOp) else 2
    kernel, shape = window(op.kernel_size, dims, 1), image_shape(b, value, dims)
    return Pooling(
        image=b.reshape(value, shape),
        kernel=kernel,
        stride=window(op.stride, dims, 1) if op.stride else kernel,
        padding=window(op.padding, dims, 0),
        dilation=window(op.dilation, dims, 1) if isinstance(op, MaxPool) else (1, 1),
        size=shape[2:],
        result=image_shape(b, op.results[0], dims)[2:],
        ceil_mode=op.ceil_mode,
    )


@rule(quantized=Quantized.MOVES, refuses=(INDICES_USED, DYNAMIC_LAST_WINDOW, FROM_DYNAMIC_END))
def max_pool(op: MaxPool, b: NodeBuilder) -> list[SSAValue]:
    """The largest element of each window."""
    if any(result.first_use is not None for result in op.results[1:]):
        raise INDICES_USED()
    pool = pooling(op, b)
    if pool.kernel == (1, 1):
        return [b.reshape(strided(b, pool), b.shape(op.results[0]))]
    (top, left), (bottom, right) = pool.padding, pool.padding_after
    properties = {
        "kernel": u32s(pool.kernel),
        "stride": u32s(pool.stride),
        "dilation": u32s(pool.dilation),
        "padding": u32s((top, right, bottom, left)),
    }
    image = b.transpose(pool.image, NCHW_TO_NHWC)
    result = b.node(xnnpack.MaxPooling2dOp, [image], {**properties})
    return [b.reshape(b.transpose(result, NHWC_TO_NCHW), b.shape(op.results[0]))]


def strided(b: NodeBuilder, pool: Pooling) -> SSAValue:
    """The elements that a window of one element meets; it has no padding."""
    image = pool.image
    for dim, step in zip((2, 3), pool.stride, strict=True):
        image = every(b, image, dim, 0, b.shape(image)[dim], step)
    return image


@rule(refuses=(DYNAMIC_LAST_WINDOW, FROM_DYNAMIC_END))
def avg_pool(op: AvgPool, b: NodeBuilder) -> SSAValue:
    """The mean of each window.

    XNNPACK divides by the elements that are not padding. To count the padding, zeros are put around the image first;
    what lies beyond them (`ceil_mode`) never counts. A `divisor_override` divides the sum, whatever the window meets:
    then zeros are put everywhere, and it is a factor on the mean.
    """
    divisor = op.divisor_override if isinstance(op, edge.AvgPool2dOp) else None
    result = averaged(b, pooling(op, b), divisor, count_include_pad=op.count_include_pad)
    return b.reshape(result, b.shape(op.results[0]))


@rule(refuses=(DYNAMIC_LAST_WINDOW, FROM_DYNAMIC_END))
def avg_pool3d(op: edge.AvgPool3dOp, b: NodeBuilder) -> SSAValue:
    """The mean of each window over height and width, then over depth.

    So many elements as there are in a window, with padding or without, are a product over its dimensions: the mean of
    means is theirs. A divisor divides the sum of both steps.
    """
    (size, *sizes), (step, *steps), (border, *borders) = (
        list(numbers) * 3 if len(numbers) == 1 else numbers
        for numbers in (op.kernel_size, op.stride or op.kernel_size, op.padding)
    )
    once = None if op.divisor_override is None else 1

    def pooled(image: SSAValue, window: Windows, result: tuple[int, int], divisor: int | None) -> SSAValue:
        _, _, height, width = b.shape(image)
        pool = Pooling(image, *window, (1, 1), (height, width), result, op.ceil_mode)
        return averaged(b, pool, divisor, count_include_pad=op.count_include_pad)

    of_plane: Windows = (sizes[0], sizes[1]), (steps[0], steps[1]), (borders[0], borders[1])
    of_depth: Windows = (size, 1), (step, 1), (border, 0)
    return in_two_steps(
        b,
        op,
        lambda planes, result: pooled(planes, of_plane, result, once),
        lambda columns, result: pooled(columns, of_depth, result, op.divisor_override),
    )


@rule(refuses=(TOO_MANY_WEIGHTS,))
def adaptive_avg_pool3d(op: edge.AdaptiveAvgPool3dOp, b: NodeBuilder) -> SSAValue:
    """The mean of each cell of planes, then of each cell of the depth."""
    return in_two_steps(b, op, partial(averages_of_cells, b), partial(averages_of_cells, b))


def in_two_steps(
    b: NodeBuilder,
    op: edge.AvgPool3dOp | edge.AdaptiveAvgPool3dOp,
    by_plane: Callable[[SSAValue, tuple[int, int]], SSAValue],
    by_depth: Callable[[SSAValue, tuple[int, int]], SSAValue],
) -> SSAValue:
    """What pools [height, width] of `op`'s input, and then [depth, positions in a plane]; both are told the size of
    their result."""
    *outer, depth, height, width = b.shape(op.self)
    slices, rows, columns = b.shape(op.results[0])[-3:]
    planes = by_plane(b.reshape(op.self, (prod(outer), depth, height, width)), (rows, columns))
    lines = by_depth(b.reshape(planes, (1, prod(outer), depth, rows * columns)), (slices, rows * columns))
    return b.reshape(lines, b.shape(op.results[0]))


def averaged(b: NodeBuilder, pool: Pooling, divisor: int | None, *, count_include_pad: bool) -> SSAValue:
    """The mean of each window, or its sum over a divisor."""
    image, (top, left), (bottom, right) = pool.image, pool.padding, pool.padding_after
    if divisor is not None:
        image = pad_with(b, image, (0, 0, top, left), (0, 0, bottom, right), 0.0)
        top, right, bottom, left = 0, 0, 0, 0
    elif count_include_pad:
        image = pad_with(b, image, (0, 0, top, left), (0, 0, top, left), 0.0)
        top, right, bottom, left = 0, right - left, bottom - top, 0
    if pool.kernel == (1, 1):
        result = strided(b, pool)
    else:
        result = average(b, image, pool.kernel, pool.stride, (top, right, bottom, left))
    return result if divisor is None else scaled(b, result, prod(pool.kernel) / divisor)


def average(
    b: NodeBuilder,
    image: SSAValue,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int, int, int],
) -> SSAValue:
    """An average pooling node on an NCHW image; `padding` is (top, right, bottom, left)."""
    result = b.node(
        xnnpack.AveragePooling2dOp,
        [b.transpose(image, NCHW_TO_NHWC)],
        {"kernel": u32s(kernel), "stride": u32s(stride), "padding": u32s(padding)},
    )
    return b.transpose(result, NHWC_TO_NCHW)


@rule(quantized=Quantized.OPERANDS, refuses=(TOO_MANY_WEIGHTS,))
def adaptive_avg_pool(
    op: edge.AdaptiveAvgPool1dOp | edge.AdaptiveAvgPool2dOp | edge.InternalAdaptiveAvgPool2dOp, b: NodeBuilder
) -> SSAValue:
    """The mean of each cell of a grid: one mean, a pooling where the grid is even, else a matrix on either side."""
    dims = 1 if op.name == "edge.adaptive_avg_pool1d" else 2
    value = op.self
    image = b.reshape(value, image_shape(b, value, dims))
    return b.reshape(averages_of_cells(b, image, image_shape(b, op.results[0], dims)[2:]), b.shape(op.results[0]))


def averages_of_cells(b: NodeBuilder, image: SSAValue, out: tuple[int, ...]) -> SSAValue:
    """The mean of each cell of a grid of a size over an NCHW image."""
    size = b.shape(image)[2:]
    if out == (1, 1):
        return image_mean(b, image, keepdim=True)
    if size == out:
        return image
    if size[0] % out[0] == 0 and size[1] % out[1] == 0:
        kernel = (size[0] // out[0], size[1] // out[1])
        return average(b, image, kernel, kernel, (0, 0, 0, 0))
    return resampled(b, image, cells(size[0], out[0]), cells(size[1], out[1]))


@rule(refuses=(INDICES_USED, DYNAMIC_PART, UNBOUNDED, FROM_DYNAMIC_END))
def adaptive_max_pool(op: edge.AdaptiveMaxPool2dOp, b: NodeBuilder) -> list[SSAValue]:
    """The largest element of each cell of a grid, one dimension after the other."""
    if op.results[1].first_use is not None:
        raise INDICES_USED()
    value, result = op.self, b.shape(op.results[0])
    shape = b.shape(value)
    if result[-2:] == (1, 1):
        return [max_over(b, value, [len(shape) - 2, len(shape) - 1], keepdim=True)]
    for dim in (len(shape) - 2, len(shape) - 1):
        fixed(shape[dim], "grid")
        bounds = cell_bounds(shape[dim], result[dim])
        largest = [max_over(b, run(b, value, dim, start, end - start), [dim], keepdim=True) for start, end in bounds]
        value = joined(b, largest, dim)
    return [value]


def cell_bounds(size: int, out: int) -> list[tuple[int, int]]:
    """(start, end) of each of the `out` cells that ATen cuts `size` elements into; they may overlap."""
    return [(floor(cell * size / out), ceil((cell + 1) * size / out)) for cell in range(out)]


def cells(size: int, out: int) -> np.ndarray:
    """The matrix [out, size] that averages `size` elements over `out` cells."""
    matrix = weights(out, size)
    for cell, (start, end) in enumerate(cell_bounds(size, out)):
        matrix[cell, start:end] = 1.0 / (end - start)
    return matrix
