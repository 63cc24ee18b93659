"""Pooling over windows: one dimension is that of an image of height 1, three are pooled in two steps."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import u32s
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.edge.decompositions.pooling import cell_bounds
from xir.transforms.xnnpack.legalizations.convolution import image_shape, window
from xir.transforms.xnnpack.legalizations.reduction import INDICES_USED, image_mean
from xir.transforms.xnnpack.legalizations.resampling import resampled
from xir.transforms.xnnpack.legalizations.resampling_weights import TOO_MANY_WEIGHTS, weights
from xir.transforms.xnnpack.legalizations.rule import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    Quantized,
    rule,
)
from xir.transforms.xnnpack.legalizations.shape import every
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END, pad_with
from xir.transforms.xnnpack.legalizations.special_functions import scaled

DYNAMIC_LAST_WINDOW = Refusal(
    "how far its last window reaches depends on a dynamic dimension",
    "pool with ceil_mode=False",
    example=call("edge.max_pool2d", self=tensor(1, 1, "?", 4), kernel_size=(2, 2), ceil_mode=True),
)


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


def pooling(op: edge.MaxPool2dWithIndicesOp | edge.AvgPool2dOp, b: NodeBuilder) -> Pooling:
    """The arguments of an op that pools an image."""
    kernel, shape = window(op.kernel_size, 2, 1), image_shape(b, op.self, 2)
    return Pooling(
        image=b.reshape(op.self, shape),
        kernel=kernel,
        stride=window(op.stride, 2, 1) if op.stride else kernel,
        padding=window(op.padding, 2, 0),
        dilation=window(op.dilation, 2, 1) if isinstance(op, edge.MaxPool2dWithIndicesOp) else (1, 1),
        size=shape[2:],
        result=image_shape(b, op.results[0], 2)[2:],
        ceil_mode=op.ceil_mode,
    )


@rule(quantized=Quantized.MOVES, refuses=(INDICES_USED, DYNAMIC_LAST_WINDOW, FROM_DYNAMIC_END))
def max_pool(op: edge.MaxPool2dWithIndicesOp, b: NodeBuilder) -> list[SSAValue]:
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
def avg_pool(op: edge.AvgPool2dOp, b: NodeBuilder) -> SSAValue:
    """The mean of each window.

    XNNPACK divides by the elements that are not padding. To count the padding, zeros are put around the image first;
    what lies beyond them (`ceil_mode`) never counts. A `divisor_override` divides the sum, whatever the window meets:
    then zeros are put everywhere, and it is a factor on the mean.
    """
    result = averaged(b, pooling(op, b), op.divisor_override, count_include_pad=op.count_include_pad)
    return b.reshape(result, b.shape(op.results[0]))


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
def adaptive_avg_pool(op: edge.InternalAdaptiveAvgPool2dOp, b: NodeBuilder) -> SSAValue:
    """The mean of each cell of a grid: one mean, a pooling where the grid is even, else a matrix on either side."""
    image = b.reshape(op.self, image_shape(b, op.self, 2))
    return b.reshape(averages_of_cells(b, image, image_shape(b, op.results[0], 2)[2:]), b.shape(op.results[0]))


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


def cells(size: int, out: int) -> np.ndarray:
    """The matrix [out, size] that averages `size` elements over `out` cells."""
    matrix = weights(out, size)
    for cell, (start, end) in enumerate(cell_bounds(size, out)):
        matrix[cell, start:end] = 1.0 / (end - start)
    return matrix
