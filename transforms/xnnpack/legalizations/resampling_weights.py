"""The weights with which a resize along one direction takes elements: a matrix, computed at run time for open sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xir.dialects.xnnpack.base import element_type
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import StaticTensor
from xir.transforms.xnnpack.legalizations.dynamic_sizes import positions, size_as_number
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder

MOST_WEIGHTS = 2**24
"""Elements of a matrix of weights: 64 MiB in fp32, for images of 4096 elements a side."""

MOST_OPEN_WEIGHTS = 2**17
"""Of a matrix that is computed at run time, for images of 256 elements a side that are doubled. Beyond, products with
it take longer than ExecuTorch's kernel."""

TOO_MANY_WEIGHTS = Refusal(
    "it takes a matrix of {rows}x{columns} weights; the limit is {most}",
    example=call("edge.upsample_nearest2d", self=tensor(1, 1, 1, 5000), output_size=(1, 4999)),
)


Matrix = np.ndarray | SSAValue
"""The weights [out, in] of a resize along one direction; those of open sizes are computed at run time, as [1, 1, out,
in]."""


def weights(rows: int, columns: int) -> np.ndarray:
    """Zeros; RefusalError if they are too many."""
    if rows * columns > MOST_WEIGHTS:
        raise TOO_MANY_WEIGHTS(rows=rows, columns=columns, most=MOST_WEIGHTS)
    return np.zeros((rows, columns), dtype=np.float32)


def inverse_scale(size: int, out: int, factor: float | None) -> float:
    """How far the source moves for one step of the result along one direction.

    By the factor where there is one; ATen does not look at one that is not positive, nor where the size stays.
    """
    return 1.0 / factor if factor and factor > 0 and size != out else size / out


def hat_functions(size: int, places: Sequence[float]) -> np.ndarray:
    """The matrix [out, size] of linear interpolation at places between 0 and the end, behind which is the last one."""
    matrix = weights(len(places), size)
    for i, place in enumerate(places):
        left = min(int(place), size - 1)
        right = min(left + 1, size - 1)
        matrix[i, left] += 1.0 - (place - left)
        matrix[i, right] += place - left
    return matrix


def centered(out: int, step: float) -> list[float]:
    """(i + ½)·step − ½, ATen's rule for unaligned corners."""
    return [max((i + 0.5) * step - 0.5, 0.0) for i in range(out)]


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


def bilinear_weights(b: NodeBuilder, size: int, out: int, factor: float | None, *, align: bool) -> Matrix:
    """The weights of linear interpolation along one direction.

    ATen does not look at a factor where the image keeps its size, which one shortly above 1 does to small images.
    """
    if not isinstance(size, SymbolicSize) and not isinstance(out, SymbolicSize):
        step = (size - 1) / max(out - 1, 1) if align else inverse_scale(size, out, factor)
        return hat_functions(size, [i * step for i in range(out)] if align else centered(out, step))
    if align:
        step = b.binary("divide", size_as_number(b, size - 1), b.clamp(size_as_number(b, out - 1), 1.0, None))
        return open_weights(b, size, out, b.binary("multiply", targets(b, out), step))
    half = b.static(StaticTensor.of(np.array(0.5, np.float32), f32, "half"))
    # A single element is found by any factor, and two are more than that from 1.5 on.
    whole = 1 if factor and factor < 1.5 else 0
    centers = b.binary("multiply", b.binary("add", targets(b, out), half), open_step(b, size, out, factor, whole))
    return open_weights(b, size, out, b.binary("subtract", centers, half, 0.0))


def nearest_weights(b: NodeBuilder, size: int, out: int, factor: float | None) -> Matrix:
    """The matrix that picks elements along one direction.

    ATen does not look at the factor where the size stays or doubles.
    """
    if not isinstance(size, SymbolicSize) and not isinstance(out, SymbolicSize):
        return picked(nearest(size, out, inverse_scale(size, out, factor)), size)
    step = open_step(b, size, out, factor, min(floor(factor), 2) if factor else 0)
    places = b.binary("multiply", targets(b, out), step)
    return open_weights(b, size, out, b.unary("floor", places))


def targets(b: NodeBuilder, out: int) -> SSAValue:
    """The places in the result, [1, 1, out, 1]."""
    return b.reshape(positions(b, out), (1, 1, out, 1))


def open_step(b: NodeBuilder, size: int, out: int, factor: float | None, whole: int) -> SSAValue:
    """How far the source moves for one step of the result: by the factor, or the quotient of the sizes.

    ATen does not look at a factor where the result is just `whole` times as long: the sizes tell that from longer ones.
    """
    if not factor or factor <= 0:
        return b.binary("divide", size_as_number(b, size), size_as_number(b, out))
    step = np.float32(1.0 / factor)
    if not whole < factor < whole + 1 or not whole:
        return b.static(StaticTensor.of(np.array(step), f32, "step"))
    longer = b.binary("subtract", size_as_number(b, out), size_as_number(b, size * whole), 0.0, 1.0)
    less = b.binary("multiply", longer, b.scalar(float(step - np.float32(1 / whole)), longer))
    return b.binary("add", less, b.scalar(1 / whole, less))


def open_weights(b: NodeBuilder, size: int, out: int, places: SSAValue) -> SSAValue:
    """The weights [1, 1, out, size] of elements by their distance from the `places`: 1 there, and 0 from 1 on.

    Places behind the last element are the last one's.
    """
    limits = tuple(b.sizes.limit(each) or MOST_OPEN_WEIGHTS + 1 for each in (out, size))
    if prod(limits) > MOST_OPEN_WEIGHTS:
        raise TOO_MANY_WEIGHTS(rows=limits[0], columns=limits[1], most=MOST_OPEN_WEIGHTS)
    sources = b.reshape(positions(b, size), (1, 1, 1, size))
    distance = b.unary("abs", b.binary("subtract", b.binary("minimum", places, size_as_number(b, size - 1)), sources))
    near = b.binary("subtract", b.scalar(1.0, distance), distance, 0.0)
    return b.convert(near, element_type(b.op.operands[0]))
