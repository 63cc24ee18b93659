"""Which boxes of its operands a node needs for a box of its result: the functions behind `SlicesOperands`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from xir.dialects.xnnpack.interfaces import Box

if TYPE_CHECKING:
    from xir.dialects.xnnpack.base import NodeOp, Shape
    from xir.dialects.xnnpack.matrix import BatchMatrixMultiplyOp, FullyConnectedOp, SoftmaxOp
    from xir.dialects.xnnpack.shape import StaticReshapeOp, StaticTransposeOp


def sizes(value: SSAValue) -> Shape:
    """The shape of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()


def whole(value: SSAValue) -> Box:
    """All of a value."""
    return tuple((0, size) for size in sizes(value))


def aligned(box: Sequence[tuple[int, int]], value: SSAValue, inner: int = 0) -> Box:
    """A box of a broadcast result as one of an operand, without its `inner` last dimensions."""
    shape = sizes(value)[: len(sizes(value)) - inner]
    parts = box[len(box) - len(shape) :]
    return tuple((0, 1) if size == 1 else part for size, part in zip(shape, parts, strict=True))


def of_elementwise(op: NodeOp, box: Box) -> list[Box]:
    """The result's box, less the dimensions that an operand lacks, and all of those that it repeats."""
    return [aligned(box, value) for value in op.operands]


def of_softmax(op: SoftmaxOp, box: Box) -> list[Box] | None:
    """Each row is normalised as a whole."""
    return [box] if box[-1] == whole(op.output)[-1] else None


def of_fully_connected(op: FullyConnectedOp, box: Box) -> list[Box] | None:
    """Rows of the input, each with all features, by the whole filter."""
    if box[-1] != whole(op.output)[-1]:
        return None
    return [(*box[:-1], whole(op.input)[-1]), *(whole(value) for value in op.operands[1:])]


def of_matrices(op: BatchMatrixMultiplyOp, box: Box) -> list[Box]:
    """Rows of the left and columns of the right matrices; a dimension of 1 is broadcast to the batch."""
    *batch, rows, columns = box
    depth = whole(op.lhs)[-1]
    right = (depth, columns) if op.transpose_b is None else (columns, depth)
    return [(*aligned(batch, op.lhs, 2), rows, depth), (*aligned(batch, op.rhs, 2), *right)]


def of_transpose(op: StaticTransposeOp, box: Box) -> list[Box]:
    """The same box, its dimensions in the operand's order."""
    parts = dict(zip(map(int, op.perm.get_values()), box, strict=True))
    return [tuple(parts[axis] for axis in range(len(box)))]


def of_reshape(op: StaticReshapeOp, box: Box) -> list[Box] | None:
    """The same box, if each dimension that it cuts is one of the operand's too: as large, with as much before it."""
    before, after = sizes(op.input), sizes(op.output)
    axes = {outer: axis for axis, (outer, size) in enumerate(zip(outer_sizes(before), before, strict=True)) if size > 1}
    parts = list(whole(op.input))
    for outer, size, part in zip(outer_sizes(after), after, box, strict=True):
        if part == (0, size):
            continue
        axis = axes.get(outer)
        if axis is None or before[axis] != size:
            return None
        parts[axis] = part
    return [tuple(parts)]


def outer_sizes(shape: Sequence[int]) -> list[int]:
    """For each dimension the product of those before it."""
    return [prod(shape[:axis]) for axis in range(len(shape))]
