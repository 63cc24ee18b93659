"""Means, sums and extremes over any dimensions, and the normalisations built from them.

Stock ExecuTorch has one reduction, over two dimensions of an image. Any block of neighbouring dimensions becomes one by
a reshape to [outer, reduced, 1, inner], which costs nothing; dimensions that are not neighbours are moved together
first. The innermost dimensions are summed by a fully connected layer instead: with a single channel left, XNNPACK's
reduction takes an element at a time and five times as long (197x768: 211 µs against 42 µs on one Zen 4 core).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type, rank_of, u32s
from xir.dialects.xnnpack.kinds import ReduceKind
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.absent_arguments import variance_correction
from xir.transforms.analysis.calls import call, constant, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.xnnpack.legalizations.dynamic_sizes import NO_DONOR, UNBOUNDED, ones, size_as_number, spread
from xir.transforms.xnnpack.legalizations.integers_around import integers_around
from xir.transforms.xnnpack.legalizations.rule import (
    DYNAMIC_PART,
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    Quantized,
    fixed,
    rule,
)
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END, run
from xir.transforms.xnnpack.legalizations.special_functions import (
    argument,
    returned,
    scaled,
)

MAX_DOT = 4096
"""The most elements that a fully connected layer adds up."""

MAX_IN_ROW = 64
"""The most elements that are added one after the other where they can be divided into blocks."""

OPEN_WINDOW = 8
"""The largest side of a window over an open dimension: a few rounds, and little is read beyond the end."""

INDICES_USED = Refusal("its indices are used", example=call("edge.max.dim", self=tensor(2, 3), dim=1))
NOTHING_TO_DIVIDE_BY = Refusal(
    "{count} elements less the correction {correction} leave nothing to divide by",
    example=call("edge.var.dim", self=tensor(3, 1), dim=[1]),
)
STATISTICS_USED = Refusal(
    "its mean and deviation are used",
    example=call(
        "edge.native_layer_norm",
        input=tensor(2, 6),
        normalized_shape=[6],
        weight=constant(6),
        bias=constant(6),
        eps=1e-05,
    ),
)


def normalized_dims(dims: Sequence[int] | int | None, rank: int) -> list[int]:
    """ATen's dimension list as sorted, non-negative numbers; None and [] are all dimensions.

    A scalar has no dimensions, but ATen accepts 0 and -1 for it.
    """
    if dims is None or dims == () or rank == 0:
        return list(range(rank))
    return sorted({d % rank for d in ((dims,) if isinstance(dims, int) else dims)})


def as_image(b: NodeBuilder, value: SSAValue, dims: Sequence[int]) -> SSAValue:
    """`value` as [outer, reduced, 1, inner], the dimensions `dims`, some at least, in the second place."""
    shape = b.shape(value)
    first, last = dims[0], dims[-1]
    if last - first + 1 != len(dims):
        rest = [d for d in range(len(shape)) if d not in dims]
        value = b.transpose(value, (*rest, *dims))
        shape, first, last = b.shape(value), len(rest), len(shape) - 1
    return b.reshape(value, (prod(shape[:first]), prod(shape[first : last + 1]), 1, prod(shape[last + 1 :])))


def as_rows(b: NodeBuilder, value: SSAValue, dim: int) -> tuple[SSAValue, list[int]]:
    """`value` as [N, H, W, C] with `dim` as height or width, and the order of its dimensions there.

    Those of four dimensions stay apart, so that any number of them may be open; of up to three none is merged but one
    with another that is of size 1.
    """
    rank = rank_of(value)
    perm = [*range(rank)]
    if dim == rank - 1 and rank > 1:
        perm[dim], perm[dim - 1] = dim - 1, dim
    elif dim == 0 and rank > 2:
        perm[:2] = 1, 0
    moved, place = b.transpose(value, perm), perm.index(dim)
    shape = b.shape(moved)
    if rank == 4:
        return moved, perm
    return b.reshape(moved, (prod(shape[:place]), shape[place], 1, prod(shape[place + 1 :]))), perm


def kept_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> list[int]:
    """The shape of a reduction's result."""
    if keepdim:
        return [1 if d in dims else size for d, size in enumerate(shape)]
    return [size for d, size in enumerate(shape) if d not in dims]


def is_single(b: NodeBuilder, value: SSAValue, dims: Sequence[int]) -> bool:
    """Whether there is one element along `dims`, which is what it is reduced to, as always in a scalar."""
    return all(b.shape(value)[d] == 1 for d in dims)


def mean_over(b: NodeBuilder, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue:
    """The mean over `dims`, which are sorted."""
    rank, shape = rank_of(value), b.shape(value)
    if is_single(b, value, dims):
        return b.reshape(value, kept_shape(shape, dims, keepdim))
    if rank == 4 and list(dims) == [2, 3]:
        return image_mean(b, value, keepdim=keepdim)
    if is_dot(b, value, dims):
        return mean_by_dot(b, value, dims, keepdim=keepdim)
    if b.has_xir_nodes:
        return reduce(b, "mean", value, dims, keepdim=keepdim)
    if (mean := mean_of_matrices(b, value, dims)) is not None:
        return mean if keepdim else b.reshape(mean, kept_shape(shape, dims, keepdim=False))
    if merges_open(shape, dims):
        return mean_by_products(b, value, dims, keepdim=keepdim)
    image = as_image(b, value, dims)
    mean = b.node(xnnpack.GlobalAveragePooling2dOp, [image])
    return b.reshape(mean, kept_shape(shape, dims, keepdim))


def merges_open(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether `as_image` merges an open dimension with others while another one is open, too.

    XNNPACK infers one size of a reshape, so it could not split them again.
    """
    if sum(isinstance(size, SymbolicSize) for size in shape) < 2:
        return False
    rest = [d for d in range(len(shape)) if d not in dims]
    is_block = dims[-1] - dims[0] + 1 == len(dims)
    outer = [d for d in rest if d < dims[0]] if is_block else rest
    groups = (outer, dims, [d for d in rest if d not in outer])
    sizes = [[shape[d] for d in group if shape[d] != 1] for group in groups]
    return any(len(group) > 1 and any(isinstance(size, SymbolicSize) for size in group) for group in sizes)


def mean_by_products(b: NodeBuilder, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue:
    """The mean over `dims` where the others keep their places: products with ones, divided by the size, in fp32."""
    shape = b.shape(value)
    total = b.convert(value, f32)
    for dim in dims:
        total = sum_by_product(b, total, dim)
    mean = b.binary("divide", total, size_as_number(b, prod(shape[d] for d in dims)))
    return b.reshape(b.convert(mean, element_type(value)), kept_shape(shape, dims, keepdim))


def sum_by_product(b: NodeBuilder, value: SSAValue, dim: int) -> SSAValue:
    """The sum over a dimension in fp32, which is kept, as a product with as many ones."""
    rank, shape = rank_of(value), b.shape(value)
    size, axis = shape[dim], rank - 2 if dim == rank - 1 else rank - 1
    if isinstance(size, SymbolicSize):
        line = ones(b, size, f32, axis, rank)
    else:
        line = b.constant(np.ones([size if d == axis else 1 for d in range(rank)], np.float32), value, "ones")
    if dim == rank - 1:
        return b.node(xnnpack.BatchMatrixMultiplyOp, [value, line])
    perm = (*(d for d in range(rank - 1) if d != dim), dim, rank - 1)
    total = b.node(xnnpack.BatchMatrixMultiplyOp, [line, b.transpose(value, perm)])
    return b.transpose(total, [perm.index(d) for d in range(rank)])


def mean_of_matrices(b: NodeBuilder, value: SSAValue, dims: Sequence[int]) -> SSAValue | None:
    """The mean over one of three dynamic dimensions, which is kept; the fourth is of size 1. None for any other mean.

    The dimension of size 1 is the image's width, so that no dimensions have to be merged.
    """
    shape = b.shape(value)
    units = [dim for dim, size in enumerate(shape) if size == 1]
    if len(shape) != 4 or len(dims) != 1 or len(units) != 1:
        return None
    first, last = (dim for dim in range(4) if dim not in (*dims, *units))
    perm = (first, *dims, *units, last)
    pooled = b.node(xnnpack.GlobalAveragePooling2dOp, [b.transpose(value, perm)], {"keep_dims": UnitAttr()})
    return b.transpose(pooled, [perm.index(dim) for dim in range(4)])


def is_dot(b: NodeBuilder, value: SSAValue, dims: Sequence[int]) -> bool:
    """Whether `dot` reduces over `dims`: the innermost ones, in fp32, and few enough elements one after the other.

    The error of such a sum grows with their number, and in half precision faster than that of XNNPACK's reductions,
    which add in fp32.
    """
    rank, shape = rank_of(value), b.shape(value)
    innermost = list(range(rank - len(dims), rank))
    return (
        element_type(value) == f32
        and list(dims) == innermost
        and not any(isinstance(size, SymbolicSize) for size in shape[innermost[0] :])
        and longest_row(prod(shape[d] for d in dims)) <= MAX_DOT
    )


def mean_by_dot(b: NodeBuilder, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue:
    """The mean over the innermost `dims`: a sum of elements over a power of 2, divided by what is left of their number.

    Neither rounds an element, as their product with 1 / count would, each to the same side: of 1000 ones the mean was
    0.9999907.
    """
    count = prod(b.shape(value)[d] for d in dims)
    power = 2.0 ** (count.bit_length() - 1)
    total = dot(b, value, dims, 1 / power, keepdim=keepdim)
    return total if power == count else b.binary("divide", total, b.scalar(count / power, total))


def is_dot_of_integers(b: NodeBuilder, value: SSAValue, dims: Sequence[int]) -> bool:
    """Whether one layer adds up the quantised numbers over `dims`."""
    return (
        not is_single(b, value, dims)
        and is_dot(b, value, dims)
        and prod(b.shape(value)[d] for d in dims) <= MAX_DOT
        and not (rank_of(value) == 4 and list(dims) == [2, 3])
    )


def dot(
    b: NodeBuilder, value: SSAValue, dims: Sequence[int], factor: float, *, keepdim: bool, blocks: int | None = None
) -> SSAValue:
    """The sum over the innermost `dims`, each element times `factor`: a fully connected layer with one output.

    Two, blocks and then their sums, where there are many elements: a layer adds one after the other, so that the error
    of a sum of n equal numbers may be n / 2 units in the last place; that of √n sums of √n is √n.
    """
    shape = b.shape(value)
    outer, count = shape[: dims[0]], prod(shape[d] for d in dims)
    if blocks is None:
        blocks = 1 if sum(isinstance(size, SymbolicSize) for size in outer) > 1 else blocks_of(count)
    size = count // blocks
    factors = b.constant(np.full((1, size), factor), value, "factors")
    rows = b.reshape(value, (*outer, size) if blocks == 1 else (*outer, blocks, size))
    sums = b.node(xnnpack.FullyConnectedOp, [rows, factors])
    if blocks > 1:
        ones = b.constant(np.ones((1, blocks)), value, "ones")
        sums = b.node(xnnpack.FullyConnectedOp, [b.reshape(sums, (*outer, blocks)), ones])
    return b.reshape(sums, kept_shape(shape, dims, keepdim))


def blocks_of(count: int) -> int:
    """Into how many equal blocks so many elements are added up: the divisor next to the root, 1 for few elements."""
    if count <= MAX_IN_ROW:
        return 1
    return max(divisor for divisor in range(1, math.isqrt(count) + 1) if count % divisor == 0)


def longest_row(count: int) -> int:
    """How many elements are added one after the other to add up so many."""
    return count // blocks_of(count)


def product_with_ones(b: NodeBuilder, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue | None:
    """The sum over the innermost dimension, or over that before it, where it is open; None for any other.

    Whole numbers have exact sums, which a mean times the number of elements would round.
    """
    rank, shape = rank_of(value), b.shape(value)
    if element_type(value) != f32 or len(dims) != 1 or dims[0] < rank - 2:
        return None
    size = shape[dims[0]]
    if not isinstance(size, SymbolicSize) or (b.sizes.limit(size) or MAX_DOT + 1) > MAX_DOT:
        return None
    if dims[0] == rank - 1:
        sums = b.node(xnnpack.FullyConnectedOp, [value, ones(b, size, f32, 1, 2)])
    else:
        sums = b.node(xnnpack.BatchMatrixMultiplyOp, [ones(b, size, f32, rank - 1, rank), value])
    return b.reshape(sums, kept_shape(shape, dims, keepdim))


def reduce(b: NodeBuilder, kind: str, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue:
    """A reduction node, which stock ExecuTorch lacks."""
    properties: dict[str, Attribute] = {"kind": xnnpack.ReduceKindAttr(ReduceKind(kind)), "axes": u32s(dims)}
    if keepdim:
        properties["keep_dims"] = UnitAttr()
    return b.node(xnnpack.StaticReduceOp, [value], properties)


def image_mean(b: NodeBuilder, value: SSAValue, *, keepdim: bool) -> SSAValue:
    """The mean over H and W of an NCHW value, whatever its size."""
    image = b.transpose(value, NCHW_TO_NHWC)
    if not keepdim:
        return b.node(xnnpack.GlobalAveragePooling2dOp, [image])
    result = b.node(xnnpack.GlobalAveragePooling2dOp, [image], {"keep_dims": UnitAttr()})
    return b.transpose(result, NHWC_TO_NCHW)


def max_over(b: NodeBuilder, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue:
    """The largest element over `dims`, which are sorted: without a node, a window as large as the dimension."""
    shape = b.shape(value)
    if is_single(b, value, dims):
        return b.reshape(value, kept_shape(shape, dims, keepdim))
    if b.has_xir_nodes:
        return reduce(b, "max", value, dims, keepdim=keepdim)
    if len(shape) == 4 and min(dims) > 1 and any(isinstance(shape[d], SymbolicSize) for d in dims):
        image = b.transpose(value, NCHW_TO_NHWC)
        largest = b.transpose(largest_of_image(b, image, [d - 1 for d in dims]), NHWC_TO_NCHW)
    elif len(dims) < len(shape) <= 4 and merges_open(shape, dims):
        largest = value
        for dim in dims:
            largest = largest_along(b, largest, dim)
    else:
        largest = largest_of_image(b, as_image(b, value, dims), [1])
    return b.reshape(largest, kept_shape(shape, dims, keepdim))


def largest_along(b: NodeBuilder, value: SSAValue, dim: int) -> SSAValue:
    """The largest element over one dimension, which is kept, where the others keep their places."""
    image, perm = as_rows(b, value, dim)
    largest = largest_of_image(b, image, [perm.index(dim) if rank_of(value) == 4 else 1])
    shape = [1 if each == dim else size for each, size in enumerate(b.shape(value))]
    moved = b.reshape(largest, [shape[each] for each in perm])
    return b.transpose(moved, [perm.index(each) for each in range(len(perm))])


def largest_of_image(b: NodeBuilder, image: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The largest element over height or width or both, which are kept with size 1.

    Windows of open dimensions reach beyond the end. As many rounds of them follow as it takes for the largest size.
    """
    sizes = [b.shape(image)[axis] if axis in axes else 1 for axis in (1, 2)]
    is_open = any(isinstance(size, SymbolicSize) for size in sizes)
    if None in (limits := [b.sizes.limit(size) for size in sizes]):
        raise UNBOUNDED(bound="unknown")
    left = [limit or 1 for limit in limits]
    while left != [1, 1]:
        window = [min(limit, OPEN_WINDOW) for limit in left] if is_open else left
        padding = (0, window[1] - 1, window[0] - 1, 0) if is_open else (0, 0, 0, 0)
        properties = {"kernel": u32s(window), "stride": u32s(window), "padding": u32s(padding)}
        image = b.node(xnnpack.MaxPooling2dOp, [image], {**properties})
        left = [-(-limit // size) for limit, size in zip(left, window, strict=True)]
    for axis in axes:
        image = run(b, image, axis, 0, 1)
    return image


def min_over(b: NodeBuilder, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue:
    """The smallest element over `dims`: without a node, what is largest of the negatives."""
    if is_single(b, value, dims):
        return b.reshape(value, kept_shape(b.shape(value), dims, keepdim))
    if b.has_xir_nodes:
        return reduce(b, "min", value, dims, keepdim=keepdim)
    return b.unary("negate", max_over(b, b.unary("negate", value), dims, keepdim=keepdim))


@rule(quantized=Quantized.OPERANDS, refuses=(FROM_DYNAMIC_END, NO_DONOR))
def mean(op: edge.MeanOp | edge.MeanDimOp, b: NodeBuilder) -> SSAValue:
    """The mean over `dim`, or over everything."""
    value = op.self
    keepdim = not isinstance(op, edge.MeanOp) and op.keepdim
    dims = normalized_dims(None if isinstance(op, edge.MeanOp) else op.dim, rank_of(value))
    if integers_around(value, op.results[0], b.ctx) is not None and is_dot_of_integers(b, value, dims):
        # Sums of integers are exact in one layer, whose scale divides them.
        return dot(b, value, dims, 1 / prod(b.shape(value)[d] for d in dims), keepdim=keepdim, blocks=1)
    return mean_over(b, value, dims, keepdim=keepdim)


@rule(refuses=(FROM_DYNAMIC_END, NO_DONOR))
def sum_(op: edge.SumDimIntListOp, b: NodeBuilder) -> SSAValue:
    """The sum over `dim`: the mean times the number of elements."""
    value = op.self
    return sum_over(b, value, normalized_dims(op.dim, rank_of(value)), keepdim=op.keepdim)


def sum_over(b: NodeBuilder, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue:
    """The sum over `dims`: the mean times the number of elements, in fp32, where it is no product with ones."""
    if is_single(b, value, dims):
        return b.reshape(value, kept_shape(b.shape(value), dims, keepdim))
    if is_dot(b, value, dims):
        return dot(b, value, dims, 1.0, keepdim=keepdim)
    if b.has_xir_nodes:
        return reduce(b, "sum", value, dims, keepdim=keepdim)
    if (sums := product_with_ones(b, value, dims, keepdim=keepdim)) is not None:
        return sums
    count = prod(b.shape(value)[d] for d in dims)
    mean = mean_over(b, b.convert(value, f32), dims, keepdim=keepdim)
    if isinstance(count, SymbolicSize):
        total = b.binary("multiply", mean, size_as_number(b, count))
    else:
        total = scaled(b, mean, count)
    return b.convert(total, element_type(value))


@rule(refuses=(DYNAMIC_PART, FROM_DYNAMIC_END))
def prod_(op: edge.ProdOp | edge.ProdDimIntOp, b: NodeBuilder) -> SSAValue:
    """The product over `dim`, or over everything: of both halves, as long as there are two."""
    value = argument(b, op.self)
    shape = b.shape(value)
    dim, keepdim = (op.dim, op.keepdim) if isinstance(op, edge.ProdDimIntOp) else (None, False)
    dims = normalized_dims(dim, rank_of(value))
    kept = kept_shape(shape, dims, keepdim)
    if is_single(b, value, dims):
        return returned(op, b, b.reshape(value, kept))
    value = as_image(b, value, dims)
    odd: list[SSAValue] = []
    while (size := fixed(b.shape(value)[1], "number of factors")) > 1:
        half = size // 2
        if size % 2:
            odd.append(run(b, value, 1, size - 1, 1))
        value = b.binary("multiply", run(b, value, 1, 0, half), run(b, value, 1, half, half))
    for element in odd:
        value = b.binary("multiply", value, element)
    return returned(op, b, b.reshape(value, kept))


@rule(refuses=(UNBOUNDED, FROM_DYNAMIC_END))
def amax(op: edge.AmaxOp, b: NodeBuilder) -> SSAValue:
    """The largest element over `dim`."""
    value = op.self
    return max_over(b, value, normalized_dims(op.dim, rank_of(value)), keepdim=op.keepdim)


@rule(refuses=(UNBOUNDED, FROM_DYNAMIC_END))
def amin(op: edge.AminOp, b: NodeBuilder) -> SSAValue:
    """The smallest element over `dim`."""
    value = op.self
    dims = normalized_dims(op.dim, rank_of(value))
    return min_over(b, value, dims, keepdim=op.keepdim)


@rule(refuses=(UNBOUNDED, FROM_DYNAMIC_END))
def extreme(op: edge.MaxOp | edge.MinOp, b: NodeBuilder) -> SSAValue:
    """The largest or smallest of all elements."""
    value = op.self
    return extreme_over(b, op, value, normalized_dims(None, rank_of(value)), keepdim=False)


@rule(refuses=(INDICES_USED, UNBOUNDED, FROM_DYNAMIC_END))
def extreme_of_dim(op: edge.MaxDimOp | edge.MinDimOp, b: NodeBuilder) -> list[SSAValue]:
    """The largest or smallest element over `dim`, if its indices are unused."""
    if op.results[1].first_use is not None:
        raise INDICES_USED()
    value = op.self
    return [extreme_over(b, op, value, normalized_dims(op.dim, rank_of(value)), keepdim=op.keepdim)]


def extreme_over(b: NodeBuilder, op: edge.EdgeOp, value: SSAValue, dims: Sequence[int], *, keepdim: bool) -> SSAValue:
    """The largest element over `dims` for an op called max, the smallest for one called min."""
    return (max_over if op.name.startswith("edge.max") else min_over)(b, value, dims, keepdim=keepdim)


@rule(refuses=(UNBOUNDED, FROM_DYNAMIC_END, NO_DONOR))
def log_softmax(op: edge.LogSoftmaxOp, b: NodeBuilder) -> SSAValue:
    """Self − max − log(Σ e^(self − max)) over `dim`: no logarithm of a softmax that underflowed.

    In fp32, as ATen: the sum in fp16 is 1 where one element is by far the largest, and the logarithm of that is 0.
    """
    value = b.convert(op.self, f32)
    dims = normalized_dims(op.dim, rank_of(value))
    shifted = b.binary("subtract", value, max_over(b, value, dims, keepdim=True))
    total = sum_over(b, b.unary("exp", shifted), dims, keepdim=True)
    return b.convert(b.binary("subtract", shifted, b.unary("log", total)), element_type(op.results[0]))


@rule(refuses=(NOTHING_TO_DIVIDE_BY, FROM_DYNAMIC_END, NO_DONOR))
def var(op: edge.VarCorrectionOp | edge.VarDimOp, b: NodeBuilder) -> SSAValue:
    """The variance over `dim`, its sum of squares divided by the number of elements less the correction."""
    value = op.self
    dims = normalized_dims(op.dim, rank_of(value))
    correction = op.correction if isinstance(op, edge.VarCorrectionOp) else int(op.unbiased)
    correction = variance_correction(correction)
    count = prod(b.shape(value)[d] for d in dims)
    if count <= correction:
        raise NOTHING_TO_DIVIDE_BY(count=count, correction=correction)
    _, variance = centered(b, value, dims)
    result = b.convert(corrected(b, variance, count, correction), element_type(value))
    return b.reshape(result, kept_shape(b.shape(value), dims, op.keepdim))


def corrected(b: NodeBuilder, variance: SSAValue, count: int, correction: float) -> SSAValue:
    """A mean of `count` squares as their sum divided by count − correction, which is not below 0.

    Where an open dimension leaves nothing to divide by, the quotient is infinite and the product NaN, as in ATen.
    """
    if not isinstance(count, SymbolicSize) or correction == 0:
        return scaled(b, variance, count / (count - correction) if correction else 1)
    number = size_as_number(b, count)
    left = b.binary("subtract", number, b.scalar(float(correction), number), 0.0)
    return b.binary("multiply", variance, b.binary("divide", number, left))


def centered(b: NodeBuilder, value: SSAValue, dims: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """(value − mean, mean of its squares) over `dims`, the second with the dimensions kept.

    In fp32, as ATen computes it for shorter types: squares of fp16 numbers above 255 would overflow.
    """
    value = b.convert(value, f32)
    difference = b.binary("subtract", value, mean_over(b, value, dims, keepdim=True))
    return difference, mean_over(b, b.unary("square", difference), dims, keepdim=True)


def standardized(b: NodeBuilder, value: SSAValue, dims: Sequence[int], eps: float) -> SSAValue:
    """(value − mean) / √(variance + eps) over `dims`, in fp32."""
    return divided_by_deviation(b, *centered(b, value, dims), eps)


def divided_by_deviation(b: NodeBuilder, difference: SSAValue, variance: SSAValue, eps: float) -> SSAValue:
    """Difference / √(variance + eps)."""
    inverse = b.unary("reciprocal_square_root", b.binary("add", variance, b.scalar(eps, variance)))
    return b.binary("multiply", difference, inverse)


def affine(
    b: NodeBuilder, value: SSAValue, weight: SSAValue | None, bias: SSAValue | None, shape: Sequence[int]
) -> SSAValue:
    """value · weight + bias, in fp32, each there or not, both first given `shape`."""
    if weight is not None:
        value = b.binary("multiply", value, b.reshape(b.convert(weight, f32), shape))
    if bias is not None:
        value = b.binary("add", value, b.reshape(b.convert(bias, f32), shape))
    return value


@rule(refuses=(STATISTICS_USED, FROM_DYNAMIC_END, NO_DONOR))
def layer_norm(op: edge.NativeLayerNormOp, b: NodeBuilder) -> list[SSAValue]:
    """Standardise over the last dimensions, then scale and shift elementwise."""
    refuse_statistics(op)
    value, shape = op.input, b.integers(op.normalized_shape)
    dims = list(range(rank_of(value) - len(shape), rank_of(value)))
    result = affine(b, standardized(b, value, dims, op.eps), op.weight, op.bias, shape)
    return [b.convert(result, element_type(value))]


def refuse_statistics(op: edge.EdgeOp) -> None:
    """RefusalError if results other than the first, which training wants, are used."""
    if any(result.first_use is not None for result in op.results[1:]):
        raise STATISTICS_USED()


@rule(symbolic=True, refuses=(STATISTICS_USED, FROM_DYNAMIC_END, NO_DONOR))
def group_norm(op: edge.NativeGroupNormOp, b: NodeBuilder) -> list[SSAValue]:
    """Standardise each group of channels, then scale and shift by channel."""
    refuse_statistics(op)
    value, groups = op.input, op.group
    batch, channels, *space = b.shape(value)
    if any(isinstance(size, SymbolicSize) for size in space):
        result = standardized_by_channel(b, value, groups, op.eps)
    else:
        grouped = b.reshape(value, (batch, groups, channels // groups * prod(space)))
        result = b.reshape(standardized(b, grouped, [2], op.eps), (batch, channels, *space))
    result = affine(b, result, op.weight, op.bias, (channels, *(1 for _ in space)))
    return [b.convert(result, element_type(value))]


def standardized_by_channel(b: NodeBuilder, value: SSAValue, groups: int, eps: float) -> SSAValue:
    """[N, C, ...] standardised in groups of channels, in fp32: the mean of a group is that of its channels' means.

    So no dimension is merged with another one, of which XNNPACK could not infer the sizes.
    """
    space = list(range(2, rank_of(value)))

    def mean(of: SSAValue) -> SSAValue:
        return shared_by_group(b, mean_over(b, of, space, keepdim=True), groups)

    value = b.convert(value, f32)
    difference = b.binary("subtract", value, mean(value))
    return divided_by_deviation(b, difference, mean(b.unary("square", difference)), eps)


def shared_by_group(b: NodeBuilder, value: SSAValue, groups: int) -> SSAValue:
    """[N, C, 1, ...], each channel the mean of its group of channels."""
    shape = b.shape(value)
    batch, channels, *_ = shape
    if groups == channels:
        return value
    grouped = (batch, groups, channels // groups)
    means = mean_over(b, b.reshape(value, grouped), [2], keepdim=True)
    return b.reshape(spread(b, means, grouped), shape)
