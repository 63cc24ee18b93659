"""Resizing images.

Along each direction a resize is a linear map, the same for every row, so any of them is a product with a matrix. Sizes
and factors become that which XNNPACK's own node does not compute, and open sizes, whose matrix the graph computes.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.ir.symbolic_size import SymbolicSize, exact_quotient
from xir.transforms.xnnpack.legalizations.dynamic_sizes import NO_DONOR, UNBOUNDED
from xir.transforms.xnnpack.legalizations.resampling_weights import (
    TOO_MANY_WEIGHTS,
    Matrix,
    bilinear_weights,
    inverse_scale,
    nearest,
    nearest_weights,
    repeated,
    weights,
)
from xir.transforms.xnnpack.legalizations.rule import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    Quantized,
    rule,
)
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END


def resampled(b: NodeBuilder, image: SSAValue, rows: Matrix, columns: Matrix) -> SSAValue:
    """An NCHW image with `rows` [H', H] applied along its height and `columns` [W', W] along its width."""
    wide = along_last(b, image, columns)
    if isinstance(rows, SSAValue):
        return b.node(xnnpack.BatchMatrixMultiplyOp, [rows, wide])
    return b.transpose(along_last(b, b.transpose(wide, (0, 1, 3, 2)), rows), (0, 1, 3, 2))


def along_last(b: NodeBuilder, value: SSAValue, matrix: Matrix) -> SSAValue:
    """`matrix` [out, in] applied to the last dimension."""
    if isinstance(matrix, SSAValue):
        return b.node(xnnpack.BatchMatrixMultiplyOp, [value, matrix], {"transpose_b": UnitAttr()})
    operands = [value, b.constant(matrix, value, "resample")]
    return b.node(xnnpack.FullyConnectedOp, operands)


UpsampleBilinear = edge.UpsampleBilinear2dVecOp | edge.UpsampleBilinear2dOp
UpsampleNearest = edge.UpsampleNearest2dVecOp | edge.UpsampleNearest2dOp


Axis = tuple[int, int, float | None]
"""The size along one direction, that of the result, and the op's factor."""


def axes_of(op: UpsampleBilinear | UpsampleNearest, b: NodeBuilder) -> list[Axis]:
    """Height and width."""
    sizes = b.shape(op.operands[0])[2:], b.shape(op.results[0])[2:]
    return list(zip(*sizes, factors_of(op), strict=True))


def takes_ratio(size: int, out: int, factor: float | None) -> bool:
    """Whether the factor is that of the sizes, from which XNNPACK computes it."""
    return bool(np.isclose(inverse_scale(size, out, factor), size / out, rtol=1e-6))


def factors_of(op: UpsampleBilinear | UpsampleNearest) -> tuple[float | None, float | None]:
    """The op's factors for (height, width)."""
    if not isinstance(op, edge.UpsampleBilinear2dVecOp | edge.UpsampleNearest2dVecOp):
        return op.scales_h, op.scales_w
    height, width = op.scale_factors or (None, None)
    return height, width


@rule(
    quantized=Quantized.MOVES,
    symbolic=True,
    refuses=(TOO_MANY_WEIGHTS, NO_DONOR, UNBOUNDED, FROM_DYNAMIC_END),
)
def upsample_bilinear2d(op: edge.UpsampleBilinear2dVecOp, b: NodeBuilder) -> SSAValue:
    """Resize an image by bilinear interpolation."""
    return bilinear(op, b)


@rule(
    quantized=Quantized.MOVES,
    symbolic=True,
    refuses=(TOO_MANY_WEIGHTS, NO_DONOR, UNBOUNDED, FROM_DYNAMIC_END),
    remainder=True,
)
def bilinear_by_other_factors(op: edge.UpsampleBilinear2dOp, b: NodeBuilder) -> SSAValue:
    """The same by factors that contradict the size."""
    return bilinear(op, b)


def bilinear(op: UpsampleBilinear, b: NodeBuilder) -> SSAValue:
    """The node, or a product with matrices of weights."""
    value = op.operands[0]
    height, width = b.shape(op.results[0])[2:]
    align, axes = bool(op.align_corners), axes_of(op, b)
    if is_open(op, b) or (not align and not all(takes_ratio(*axis) for axis in axes)):
        rows, columns = (bilinear_weights(b, *axis, align=align) for axis in axes)
        return resampled(b, value, rows, columns)
    properties: dict[str, Attribute] = {"new_height": IntegerAttr(height, i32), "new_width": IntegerAttr(width, i32)}
    if align:
        properties["align_corners"] = UnitAttr()
    image = b.transpose(value, NCHW_TO_NHWC)
    result = b.node(xnnpack.StaticResizeBilinear2dOp, [image], properties)
    return b.transpose(result, NHWC_TO_NCHW)


@rule(symbolic=True, refuses=(TOO_MANY_WEIGHTS, NO_DONOR, UNBOUNDED, FROM_DYNAMIC_END))
def upsample_nearest2d(op: edge.UpsampleNearest2dVecOp, b: NodeBuilder) -> SSAValue:
    """Repeat pixels."""
    return nearest_neighbors(op, b)


@rule(symbolic=True, refuses=(TOO_MANY_WEIGHTS, NO_DONOR, UNBOUNDED, FROM_DYNAMIC_END), remainder=True)
def nearest_by_other_factors(op: edge.UpsampleNearest2dOp, b: NodeBuilder) -> SSAValue:
    """The same by factors that contradict the size."""
    return nearest_neighbors(op, b)


def nearest_neighbors(op: UpsampleNearest, b: NodeBuilder) -> SSAValue:
    """Pixels repeated: by whole factors a broadcast product with ones, else a matrix that picks them."""
    value = op.operands[0]
    axes = axes_of(op, b)
    copies = [whole_factor(*axis) for axis in axes]
    open_sizes = sum(isinstance(size, SymbolicSize) for size in b.shape(op.results[0]))
    if copies[0] and copies[1] and (open_sizes <= 1 or not is_open(op, b)):
        return with_copies(op, b, copies[0], copies[1])
    rows, columns = (nearest_weights(b, *axis) for axis in axes)
    return resampled(b, value, rows, columns)


def with_copies(op: UpsampleNearest, b: NodeBuilder, rows: int, columns: int) -> SSAValue:
    """Each pixel in so many rows and columns."""
    value = op.operands[0]
    batch, channels, height, width = b.shape(value)
    ones = weights(rows, columns)[:, None] + 1
    pixels = b.reshape(value, (batch * channels, height, 1, width, 1))
    spread = b.binary("multiply", pixels, b.constant(ones, value, "ones"))
    return b.reshape(spread, b.shape(op.results[0]))


def whole_factor(size: int, out: int, factor: float | None) -> int | None:
    """How often each element stands in the result, where that is the same for all; None for other factors."""
    times = exact_quotient(out, size)
    if times is None or isinstance(times, SymbolicSize):
        return None
    if isinstance(size, SymbolicSize):
        return times if not factor or factor == times else None
    return times if nearest(size, out, inverse_scale(size, out, factor)) == repeated(size, times) else None


def is_open(op: UpsampleBilinear | UpsampleNearest, b: NodeBuilder) -> bool:
    """Whether an image, or what it is resized to, has an open height or width."""
    return any(
        isinstance(size, SymbolicSize) for value in (op.operands[0], op.results[0]) for size in b.shape(value)[2:]
    )
