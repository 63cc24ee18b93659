"""The beginning of a constant table, as long as a dynamic dimension: a slice node ends where the file says."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import Shape, element_type, u32s
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.xnnpack.legalizations.dynamic_sizes import spread
from xir.transforms.xnnpack.legalizations.reshaping import concatenate
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder, static_name

MAX_ELEMENTS = 1 << 16
"""Of a table: its nodes take about twice the time of a kernel outside, which for so many is some microseconds."""


def prefix_of_table(op: edge.SliceTensorOp, b: NodeBuilder) -> SSAValue | None:
    """The first elements of a table along one dimension, as many as a dynamic dimension has; None for another slice.

    As many of −∞ are put behind the table's n elements. Each window of two elements that are n apart has an element of
    the prefix and one of −∞, so pooling gives just the prefix: a later window would end outside.
    """
    shape, dim = b.shape(op.self), op.dim % len(b.shape(op.self))
    count, size = shape[dim], b.shape(op.results[0])[dim]
    if op.start or op.step != 1 or isinstance(count, SymbolicSize) or not isinstance(size, SymbolicSize):
        return None
    image, axis = image_of(shape, dim)
    if not is_table(op.self, b) or sum(isinstance(each, SymbolicSize) for each in image) > 1:
        return None
    end = b.constant(np.full((1, 1, 1, 1), -np.inf, np.float32), op.self, "end")
    behind = spread(b, end, tuple(size if each == axis else image[each] for each in range(4)))
    pair = ("kernel", 2), ("dilation", count)
    properties = {name: u32s((number, 1) if axis == 1 else (1, number)) for name, number in pair}
    joined = concatenate(b, [in_shape(op.self, image, b), behind], axis)
    prefix = b.node(xnnpack.MaxPooling2dOp, [joined], {**properties})
    return b.reshape(prefix, (*shape[:dim], size, *shape[dim + 1 :]))


def image_of(shape: Shape, dim: int) -> tuple[Shape, int]:
    """[N, H, W, C] for a tensor of `shape`, and its axis that is `dim`: H, or W behind a dynamic dimension."""
    before, count, after = shape[:dim], shape[dim], shape[dim + 1 :]
    if any(isinstance(size, SymbolicSize) for size in before):
        return (prod(before[:-1]), before[-1], count, prod(after)), 2
    if any(isinstance(size, SymbolicSize) for size in after):
        return (prod(before), count, after[0], prod(after[1:])), 1
    return (prod(before), count, 1, prod(after)), 1


def is_table(value: SSAValue, b: NodeBuilder) -> bool:
    """Whether a value is a small constant of numbers, or the beginning of one."""
    while isinstance(op := value.owner, edge.SliceTensorOp) and not op.start and op.step == 1:
        value = op.self
    if not isinstance(value.owner, edge.ConstantOp) or element_type(value) not in (f32, f16):
        return False
    return prod(b.shape(value)) <= MAX_ELEMENTS and not np.isnan(b.numbers(value, "table")).any()


def in_shape(value: SSAValue, shape: Shape, b: NodeBuilder) -> SSAValue:
    """A value in another shape; a constant is in that shape in the file."""
    if not isinstance(value.owner, edge.ConstantOp):
        return b.reshape(value, shape)
    return b.constant(b.numbers(value, "table").reshape(shape), value, static_name(value))
