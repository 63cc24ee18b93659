"""Tensors as long as a dynamic dimension: XNNPACK makes one out of a tensor that has the dimension, its *donor*.

The donor's elements, which may be anything, never get into the result: they are cut off again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import FLOATS, element_type, rank_of, u32s
from xir.ir.symbolic_size import SymbolicSize, floor_div
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import StaticTensor
from xir.transforms.xnnpack.legalizations.reshaping import MAX_PIECES, concatenate, joined
from xir.transforms.xnnpack.legalizations.rule import DYNAMIC_PART, NodeBuilder, rule
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END, box, pad_with, run

EXACT = 2**24
"""Positions up to this one are exact in fp32."""


SINGLE_NUMBER = Refusal(
    "it is a single number, so there is nothing to compute",
    example=call("edge.full", size=(1, 1), fill_value=2.0, dtype=f32),
)
UNBOUNDED = Refusal(
    "it counts along a dynamic dimension, whose bound is {bound}", example=call("edge.tril", self=tensor("?", 4))
)
NO_DONOR = Refusal(
    "it has a dynamic size that no earlier floating-point value has",
    example="""
func.func @forward(%x: tensor<?xi32>, %y: tensor<1x4xf32>) -> tensor<?x4xf32> {
  %size = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xi32>) -> i64
  %0 = edge.expand(%y)[%size] {size = array<i64: -9223372036854775808, 4>} : (tensor<1x4xf32>, i64) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
""",
)


COUNTS_INTEGERS = Refusal(
    "it counts integers, or from a number that only the run time knows",
    example=call("edge.arange.start_step", start=0, end=4),
)


def spread(b: NodeBuilder, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """`value` broadcast to `shape`; stock ExecuTorch has no broadcast, so products with ones spread it."""
    before = (1,) * (len(shape) - rank_of(value)) + b.shape(value)
    spreading = b.reshape(value, before)
    copies = [size if size != old else 1 for size, old in zip(shape, before, strict=True)]
    static = [1 if isinstance(size, SymbolicSize) else size for size in copies]
    if prod(static) > 1:
        spreading = b.binary("multiply", spreading, b.constant(np.ones(static, np.float32), value, "ones"))
    for axis, size in enumerate(copies):
        if isinstance(size, SymbolicSize):
            spreading = b.binary("multiply", spreading, ones(b, size, element_type(value), axis, len(shape)))
    return spreading


@rule(symbolic=True, refuses=(SINGLE_NUMBER, NO_DONOR, DYNAMIC_PART, FROM_DYNAMIC_END))
def full(op: edge.FullOp | edge.FullLikeOp, b: NodeBuilder) -> SSAValue:
    """One number everywhere, where `fold-constants` made no constant of it: the padding around that number."""
    if op.has_run_time_numbers:
        raise DYNAMIC_PART(what="number")
    result, value = op.results[0], op.fill_value
    shape = b.shape(result)
    corner = b.static(StaticTensor.of(np.full([1] * len(shape), value), element_type(result), "full"))
    padding = [0 if isinstance(size, SymbolicSize) else size - 1 for size in shape]
    if shape == b.shape(corner):
        raise SINGLE_NUMBER()
    return spread(b, pad_with(b, corner, [0] * len(shape), padding, float(value)), shape)


@rule(symbolic=True, refuses=(COUNTS_INTEGERS, UNBOUNDED, NO_DONOR, FROM_DYNAMIC_END))
def arange(op: edge.ArangeStartStepOp, b: NodeBuilder) -> SSAValue:
    """Positions along a dynamic dimension, times `step`, from `start` on."""
    result, start, step = op.results[0], op.start, op.step
    size = b.shape(result)[0]
    if element_type(result) not in FLOATS or not isinstance(start, int) or not isinstance(step, int):
        raise COUNTS_INTEGERS()
    value = b.reshape(positions(b, size), (size,))
    value = b.binary("multiply", value, b.scalar(step, value)) if step != 1 else value
    value = b.binary("add", value, b.scalar(start, value)) if start else value
    return b.convert(value, element_type(result))


def ones(b: NodeBuilder, size: SymbolicSize, element: Attribute, axis: int, rank: int) -> SSAValue:
    """Ones along `axis`; the other `rank` − 1 dimensions are of size 1."""
    return b.reshape(copies_of(b, 1.0, size, element), [size if d == axis else 1 for d in range(rank)])


def copies_of(b: NodeBuilder, number: float, size: SymbolicSize, element: Attribute) -> SSAValue:
    """`size` copies of a number, as [size, 1]."""
    return run(b, pad_with(b, column(b, size, element), (0, 1), (0, 0), number), 1, 0, 1)


def size_as_number(b: NodeBuilder, size: int) -> SSAValue:
    """A size in fp32, without dimensions: the sum of as many ones, which is exact up to 2^24.

    A size that no value has, as that of two dimensions together, is computed of those that it consists of.
    """
    if not isinstance(size, SymbolicSize):
        return b.static(StaticTensor.of(np.array(size, np.float32), f32, "size"))
    if b.donors.find(size, f32, b.place) is not None:
        counted = ones(b, size, f32, 0, 2)
        return b.reshape(b.node(xnnpack.BatchMatrixMultiplyOp, [b.reshape(counted, (1, size)), counted]), ())
    if (parts := size.parts()) is None:
        raise NO_DONOR()
    kind, first, second = parts
    numbers = size_as_number(b, first), size_as_number(b, second)
    if kind == "floordiv":
        return b.unary("floor", b.binary("divide", *numbers))
    return b.binary(kind, *numbers)


def minus_infinity(
    b: NodeBuilder, shape: Sequence[int], diagonal: int, element: Attribute, *, above: bool = True
) -> SSAValue:
    """A matrix with −∞ where column − row is more than `diagonal`, or less (`above=False`), and 0 elsewhere.

    Twice the distance times the largest number is −∞ for each distance from 1 on.
    """
    rows, columns = shape
    row, column = positions(b, rows), b.reshape(positions(b, columns), (1, columns))
    start, end = (row, column) if above else (column, row)
    distance = b.binary(
        "subtract", b.binary("subtract", end, start), b.scalar(diagonal if above else -diagonal, row), 0.0
    )
    distance = b.binary("add", distance, distance)
    return b.convert(b.binary("multiply", distance, b.scalar(-float(np.finfo(np.float32).max), row)), element)


def positions(b: NodeBuilder, size: int) -> SSAValue:
    """0, 1, 2, … in fp32, as [size, 1].

    For a dynamic size: behind the donor's elements stand the positions up to the dimension's bound, ascending; the last
    `size` of them, less the first of these.
    """
    if not isinstance(size, SymbolicSize):
        return b.static(StaticTensor.of(np.arange(size, dtype=np.float32)[:, np.newaxis], f32, "positions"))
    if not 0 < (bound := b.sizes.limit(size) or 0) <= EXACT:
        raise UNBOUNDED(bound=bound or "unknown")
    counted = positions(b, bound)
    last = run(b, concatenate(b, [column(b, size, f32), counted], 0), 0, bound, size)
    return b.binary("subtract", last, run(b, last, 0, 0, 1))


def column(b: NodeBuilder, size: SymbolicSize, element: Attribute) -> SSAValue:
    """As many numbers as `size`, [size, 1], converted to a floating-point type: a donor's elements.

    Without a donor they are joined of those that the size is the sum or the product of.
    """
    if (found := b.donors.find(size, element, b.place)) is not None:
        value, dim = found
        row = box(b, value, [0] * rank_of(value), [size if d == dim else 1 for d in range(rank_of(value))])
        return b.convert(b.reshape(row, (size, 1)), element)
    kind, first, second = size.parts() or (None, 0, 0)
    if not isinstance(first, SymbolicSize):
        raise NO_DONOR()
    if kind == "floordiv":
        return one_of_each(b, column(b, first, element), second)
    numbers = column(b, first, element)
    if isinstance(second, SymbolicSize):
        others = column(b, second, element)
        if kind == "add":
            return concatenate(b, [numbers, others], 0)
        return b.reshape(b.binary("multiply", numbers, b.reshape(others, (1, second))), (size, 1))
    if kind == "multiply" and 0 < second <= MAX_PIECES:
        return joined(b, [numbers] * second, 0)
    if kind == "add" and second > 0:
        return pad_with(b, numbers, (0, 0), (second, 0), 0.0)
    if kind == "add":
        return run(b, numbers, 0, -second, size)
    raise NO_DONOR()


def one_of_each(b: NodeBuilder, numbers: SSAValue, count: int) -> SSAValue:
    """One number for each `count` of [size, 1]; what is left over at the end gives none."""
    if isinstance(count, SymbolicSize):
        raise NO_DONOR()
    (size, _), window = b.shape(numbers), u32s((count, 1))
    image = b.reshape(numbers, (1, size, 1, 1))
    largest = b.node(xnnpack.MaxPooling2dOp, [image], {"kernel": window, "stride": window})
    return b.reshape(largest, (floor_div(size, count), 1))
