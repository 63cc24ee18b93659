"""Resizing images.

Along each direction a resize is a linear map, the same for every row, so any of them is a product with a static matrix.
That is what sizes and factors become which XNNPACK's own node does not compute.
"""

from __future__ import annotations

from math import floor

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.xnnpack.legalizations.rule import (
    DYNAMIC_PART,
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    Quantized,
    fixed,
    rule,
)

MOST_WEIGHTS = 2**24
"""Elements of a matrix of weights: 64 MiB in fp32, for images of 4096 elements a side."""

TOO_MANY_WEIGHTS = Refusal(
    "it takes a matrix of {rows}x{columns} weights; {most} are sensible",
    example=call("edge.upsample_nearest2d", self=tensor(1, 1, 1, 5000), output_size=(1, 4999)),
)


def weights(rows: int, columns: int) -> np.ndarray:
    """Zeros; RefusalError if they are too many."""
    if rows * columns > MOST_WEIGHTS:
        raise TOO_MANY_WEIGHTS(rows=rows, columns=columns, most=MOST_WEIGHTS)
    return np.zeros((rows, columns), dtype=np.float32)


def resampled(b: NodeBuilder, image: SSAValue, rows: np.ndarray, columns: np.ndarray) -> SSAValue:
    """An NCHW image with `rows` [H', H] applied along its height and `columns` [W', W] along its width."""
    wide = along_last(b, image, columns)
    return b.transpose(along_last(b, b.transpose(wide, (0, 1, 3, 2)), rows), (0, 1, 3, 2))


def along_last(b: NodeBuilder, value: SSAValue, matrix: np.ndarray) -> SSAValue:
    """`matrix` [out, in] applied to the last dimension."""
    operands = [value, b.constant(matrix, value, "resample")]
    return b.node(xnnpack.FullyConnectedOp, operands)


UpsampleBilinear = edge.UpsampleBilinear2dVecOp | edge.UpsampleBilinear2dOp
UpsampleNearest = edge.UpsampleNearest2dVecOp | edge.UpsampleNearest2dOp


def inverse_scales(
    op: UpsampleBilinear | UpsampleNearest, size: tuple[int, int], out: tuple[int, int]
) -> tuple[float, float]:
    """How far the source moves for one step of the result, (height, width).

    By the op's factors where it has them; ATen does not look at those that are not positive, nor where the size stays.
    """
    if isinstance(op, edge.UpsampleBilinear2dVecOp | edge.UpsampleNearest2dVecOp):
        factors = op.scale_factors or (None, None)
    else:
        factors = (op.scales_h, op.scales_w)
    height, width = (1.0 / f if f and f > 0 and n != m else n / m for f, n, m in zip(factors, size, out, strict=True))
    return height, width


@rule(quantized=Quantized.MOVES, refuses=(DYNAMIC_PART, TOO_MANY_WEIGHTS))
def upsample_bilinear2d(op: UpsampleBilinear, b: NodeBuilder) -> SSAValue:
    """Resize an image by bilinear interpolation."""
    value = op.operands[0]
    size = b.shape(value)[2:]
    height, width = (fixed(n, "size") for n in b.shape(op.results[0])[2:])
    align = bool(op.align_corners)
    ratio = (size[0] / height, size[1] / width)
    steps = inverse_scales(op, (size[0], size[1]), (height, width))
    if not align and not np.allclose(steps, ratio, rtol=1e-6):
        return resampled(b, value, hat_functions(size[0], height, steps[0]), hat_functions(size[1], width, steps[1]))
    properties: dict[str, Attribute] = {"new_height": IntegerAttr(height, i32), "new_width": IntegerAttr(width, i32)}
    if align:
        properties["align_corners"] = UnitAttr()
    image = b.transpose(value, NCHW_TO_NHWC)
    result = b.node(xnnpack.StaticResizeBilinear2dOp, [image], properties)
    return b.transpose(result, NHWC_TO_NCHW)


def hat_functions(size: int, out: int, step: float) -> np.ndarray:
    """The matrix [out, size] of linear interpolation at (i + ½)·step − ½, ATen's rule for unaligned corners."""
    matrix = weights(out, size)
    for i in range(out):
        position = max((i + 0.5) * step - 0.5, 0.0)
        left = min(int(position), size - 1)
        right = min(left + 1, size - 1)
        matrix[i, left] += 1.0 - (position - left)
        matrix[i, right] += position - left
    return matrix


@rule(refuses=(DYNAMIC_PART, TOO_MANY_WEIGHTS))
def upsample_nearest2d(op: UpsampleNearest, b: NodeBuilder) -> SSAValue:
    """Repeat pixels: by whole factors a broadcast product with ones, else a matrix that picks them."""
    value = op.operands[0]
    batch, channels, height, width = b.shape(value)
    out_height, out_width = (fixed(n, "size") for n in b.shape(op.results[0])[2:])
    steps = inverse_scales(op, (height, width), (out_height, out_width))
    rows, columns = nearest(height, out_height, steps[0]), nearest(width, out_width, steps[1])
    if rows != repeated(height, out_height // height) or columns != repeated(width, out_width // width):
        return resampled(b, value, picked(rows, height), picked(columns, width))
    ones = weights(out_height // height, out_width // width)[:, None] + 1
    pixels = b.reshape(value, (batch * channels, height, 1, width, 1))
    spread = b.binary("multiply", pixels, b.constant(ones, value, "ones"))
    return b.reshape(spread, b.shape(op.results[0]))


def nearest(size: int, out: int, step: float) -> list[int]:
    """The source index of each result index: floor(i·step) in fp32, within the image.

    Where the size doubles, ATen does not look at the step: `at::native::nearest_idx`.
    """
    if out == 2 * size:
        return repeated(size, 2)
    return [min(floor(np.float32(i) * np.float32(step)), size - 1) for i in range(out)]


def repeated(size: int, factor: int) -> list[int]:
    """Each of `size` indices, `factor` times in a row."""
    return [i for i in range(size) for _ in range(factor)]


def picked(indices: list[int], size: int) -> np.ndarray:
    """The matrix [out, size] that picks `indices`."""
    matrix = weights(len(indices), size)
    matrix[range(len(indices)), indices] = 1.0
    return matrix
