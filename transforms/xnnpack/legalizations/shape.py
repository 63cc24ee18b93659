"""Ops that move data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge
from xir.dialects.xnnpack.base import FLOATS, element_type, rank_of
from xir.ir.annotations import UNASKED
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.calls import call, numbers, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import NOT_STATIC
from xir.transforms.xnnpack.legalizations.dynamic_sizes import NO_DONOR, UNBOUNDED, spread
from xir.transforms.xnnpack.legalizations.elementwise import truncated
from xir.transforms.xnnpack.legalizations.ends import counted_from_end, up_to_end
from xir.transforms.xnnpack.legalizations.prefixes import prefix_of_table
from xir.transforms.xnnpack.legalizations.reshaping import joined
from xir.transforms.xnnpack.legalizations.rule import DYNAMIC_PART, NodeBuilder, Quantized, fixed, rule
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END, pad_with, run
from xir.transforms.xnnpack.legalizations.striding import strided

MAX_RUNS = 256
"""The most slices that one op becomes: each is a node with its own cost."""

END = 2**31
"""From here on an index means the end; ATen's is 2^63 − 1."""


INDEX_OUTSIDE = Refusal(
    "its index leaves the dimension of size {size}",
    example=call("edge.index_select", self=tensor(4, 6), dim=0, index=numbers([0, 7])),
)
INDICES_APART = Refusal(
    "it indexes dimensions that are not neighbours",
    example=call("edge.index.Tensor", self=tensor(4, 5, 6), indices=[numbers([1]), None, numbers([2])]),
)
INDEXED_BY_MASK = Refusal(
    "it indexes by a mask",
    "index by numbers",
    example="""
func.func @forward(%x: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %mask = edge.constant dense<[true, false, true]> : tensor<3xi1>
  %0 = edge.index.Tensor(%x, [%mask]) : (tensor<3x4xf32>, tensor<3xi1>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
""",
)
INDICES_OUTSIDE = Refusal(
    "its index leaves the dimensions of sizes {sizes}",
    example=call("edge.index.Tensor", self=tensor(3, 4), indices=[numbers([0, 3])]),
)
TOO_MANY_RUNS = Refusal(
    "it takes {count} separate runs of elements; the limit is {most}",
    example=call("edge.flip", self=tensor(257), dims=[0]),
)
REST_MAY_BE_EMPTY = Refusal(
    "nothing may remain after the part of a dynamic dimension that it replaces, and XNNPACK has no empty tensors",
    example=call("edge.slice_scatter", self=tensor("?", 4), src=tensor(2, 4), start=1, end=3),
)
NOTHING_LEFT = Refusal(
    "its padding surrounds what it cuts off completely",
    example=call("edge.constant_pad_nd", self=tensor(2, 4), pad=[0, 0, 1, -2]),
)


@rule(quantized=Quantized.MOVES, symbolic=True)
def view(
    op: edge.ViewOp | edge.SqueezeDimOp | edge.SqueezeDimsOp | edge.UnsqueezeOp,
    b: NodeBuilder,
) -> SSAValue:
    """The same elements in another shape, which the result's type gives."""
    return b.reshape(op.operands[0], b.shape(op.results[0]))


@rule(symbolic=True, refuses=(NO_DONOR, FROM_DYNAMIC_END))
def expand(op: edge.ExpandOp, b: NodeBuilder) -> SSAValue:
    """Repeat dimensions of size 1."""
    return spread(b, op.self, b.shape(op.results[0]))


@rule(refuses=(NO_DONOR, FROM_DYNAMIC_END))
def copy(op: edge.CopyOp, b: NodeBuilder) -> SSAValue:
    """Src in the shape and element type of self."""
    source = cast(b, op.src, element_type(op.results[0]))
    return spread(b, source, b.shape(op.results[0]))


@rule()
def to_copy(op: edge.ToCopyOp, b: NodeBuilder) -> SSAValue:
    """Self converted to another element type."""
    return cast(b, op.self, element_type(op.results[0]), asked=UNASKED not in op.attributes)


def cast(b: NodeBuilder, value: SSAValue, element: Attribute, *, asked: bool = True) -> SSAValue:
    """`value` converted as ATen does it: to integers towards zero, where XNNPACK takes the nearest."""
    if element == i32 and element_type(value) in FLOATS:
        value = truncated(b, value)
    return b.convert(value, element, asked=asked)


@rule(quantized=Quantized.MOVES)
def permute(op: edge.PermuteOp, b: NodeBuilder) -> SSAValue:
    """Permute dimensions."""
    value = op.self
    return b.transpose(value, [d % rank_of(value) for d in op.dims])


@rule(quantized=Quantized.MOVES)
def transpose(op: edge.TransposeIntOp, b: NodeBuilder) -> SSAValue:
    """Exchange two dimensions."""
    value = op.self
    return b.transpose(value, exchanged(rank_of(value), op.dim0, op.dim1))


@rule(quantized=Quantized.MOVES)
def t(op: edge.TOp, b: NodeBuilder) -> SSAValue:
    """A matrix's transpose."""
    value = op.self
    return b.transpose(value, exchanged(rank_of(value), 0, -1)) if rank_of(value) == 2 else value


def exchanged(rank: int, first: int, second: int) -> list[int]:
    """The permutation that exchanges two dimensions; empty for a scalar."""
    perm = list(range(rank))
    if perm:
        perm[first], perm[second] = perm[second], perm[first]
    return perm


@rule(quantized=Quantized.MOVES, empty=True)
def cat(op: edge.CatOp, b: NodeBuilder) -> SSAValue:
    """Join tensors along `dim`; those without elements add nothing."""
    values = [value for value in op.tensors if 0 not in b.shape(value)]
    return joined(b, values, op.dim % rank_of(values[0]))


@rule(quantized=Quantized.MOVES, symbolic=True, refuses=(DYNAMIC_PART, FROM_DYNAMIC_END, NO_DONOR, UNBOUNDED))
def slice_(op: edge.SliceTensorOp, b: NodeBuilder) -> SSAValue:
    """Elements `start` to `end` of one dimension, each or every `step`th."""
    value, prefix = op.self, prefix_of_table(op, b)
    if prefix is not None:
        return prefix
    shape, dim = b.shape(value), op.dim % rank_of(value)

    def index(given: edge.Size | None, default: int) -> int:
        number = default if given is None else b.integer(given)
        return clamp_index(number if isinstance(shape[dim], SymbolicSize) else fixed(number, "run"), shape[dim])

    start, end, step = index(op.start, 0), index(op.end, shape[dim]), b.integer(op.step)
    if step > 1:
        return every(b, value, dim, start, end, step)
    return part(b, value, dim, start, end - start)


def part(b: NodeBuilder, value: SSAValue, dim: int, start: int, size: int) -> SSAValue:
    """`size` neighbouring elements of one dimension, also such as are counted from its open end."""
    if (last := counted_from_end(b, value, dim, start, size)) is not None:
        return last
    if (first := up_to_end(b, value, dim, start, size)) is not None:
        return first
    return run(b, value, dim, start, size)


def every(b: NodeBuilder, value: SSAValue, dim: int, start: int, end: int, step: int) -> SSAValue:
    """Every `step`th element from `start` to `end`: the first of each row, once `step` neighbours are a row."""
    shape = b.shape(value)
    if sum(isinstance(size, SymbolicSize) for size in (*shape, end)) > 1:
        return strided(b, value, dim, start, end, step)
    count = -(-(end - start) // step)
    stop = start + count * step
    value = run(b, value, dim, start, min(stop, shape[dim]) - start)
    missing = [max(stop - shape[dim], 0) if d == dim else 0 for d in range(len(shape))]
    value = pad_with(b, value, [0] * len(shape), missing, 0.0)
    rows = b.reshape(value, (prod(shape[:dim]), count, step, prod(shape[dim + 1 :])))
    return b.reshape(run(b, rows, 2, 0, 1), (*shape[:dim], count, *shape[dim + 1 :]))


@rule(refuses=(FROM_DYNAMIC_END, REST_MAY_BE_EMPTY))
def select_scatter(op: edge.SelectScatterOp, b: NodeBuilder) -> SSAValue:
    """Self with one index of one dimension replaced by src, which lacks that dimension."""
    value, source = op.self, op.src
    shape, dim = b.shape(value), op.dim % rank_of(value)
    widened = b.reshape(source, (*shape[:dim], 1, *shape[dim + 1 :]))
    return replaced(b, value, widened, dim, wrap_index(b.integer(op.index), shape[dim]))


@rule(empty=True, refuses=(FROM_DYNAMIC_END, REST_MAY_BE_EMPTY))
def slice_scatter(op: edge.SliceScatterOp, b: NodeBuilder) -> SSAValue:
    """Self with elements `start` to `end` of one dimension, each or every `step`th, replaced by src."""
    value, source = op.self, op.src
    shape, dim = b.shape(value), op.dim % rank_of(value)
    if b.shape(source)[dim] == 0:
        return value
    start, step = clamp_index(b.integer(op.start or 0), shape[dim]), b.integer(op.step)
    if step > 1:
        source = spread_out(b, value, source, dim, start, step)
    return replaced(b, value, source, dim, start)


def spread_out(b: NodeBuilder, value: SSAValue, source: SSAValue, dim: int, start: int, step: int) -> SSAValue:
    """The elements of `source` along a dimension, between them those of `value` from `start` on that they skip."""
    shape, count = b.shape(value), b.shape(source)[dim]
    size = (count - 1) * step + 1
    padded = [step - 1 if d == dim else 0 for d in range(len(shape))]
    kept = pad_with(b, run(b, value, dim, start, size), [0] * len(shape), padded, 0.0)
    outer, inner = prod(shape[:dim]), prod(shape[dim + 1 :])
    rows = b.reshape(kept, (outer, count, step, inner))
    rows = joined(b, [b.reshape(source, (outer, count, 1, inner)), run(b, rows, 2, 1, step - 1)], 2)
    return run(b, b.reshape(rows, (*shape[:dim], count * step, *shape[dim + 1 :])), dim, 0, size)


def replaced(b: NodeBuilder, value: SSAValue, source: SSAValue, dim: int, start: int) -> SSAValue:
    """`value` with the elements from `start` on, as many as `source` has, replaced along a dimension."""
    end, size = start + b.shape(source)[dim], b.shape(value)[dim]
    if isinstance(size, SymbolicSize) and end != size:
        raise REST_MAY_BE_EMPTY()
    before = [run(b, value, dim, 0, start)] if start else []
    behind = [run(b, value, dim, end, size - end)] if end < size else []
    return joined(b, [*before, source, *behind], dim)


@rule(quantized=Quantized.MOVES, refuses=(TOO_MANY_RUNS, DYNAMIC_PART, FROM_DYNAMIC_END))
def flip(op: edge.FlipOp, b: NodeBuilder) -> SSAValue:
    """Reverse dimensions, one slice for each element of them."""
    value = op.self
    shape = b.shape(value)
    if not shape:
        return value
    for axis in op.dims:
        dim = axis % len(shape)
        size = fixed(shape[dim], "order")
        if size > MAX_RUNS:
            raise TOO_MANY_RUNS(count=size, most=MAX_RUNS)
        value = taken(b, value, dim, range(size - 1, -1, -1))
    return value


@rule(quantized=Quantized.MOVES, refuses=(INDEX_OUTSIDE, TOO_MANY_RUNS, NOT_STATIC, FROM_DYNAMIC_END))
def index_select(op: edge.IndexSelectOp, b: NodeBuilder) -> SSAValue:
    """Elements of one dimension by a static index, one slice for each run of neighbours."""
    value, index = op.self, b.numbers(op.index, "index").reshape(-1)
    if rank_of(value) == 0:
        return value
    shape, dim = b.shape(value), op.dim % rank_of(value)
    if index.min() < 0 or index.max() >= shape[dim]:
        raise INDEX_OUTSIDE(size=shape[dim])
    check_length(index.size, shape[dim])
    return taken(b, value, dim, [int(i) for i in index])


@rule(refuses=(INDICES_APART, INDEXED_BY_MASK, INDICES_OUTSIDE, TOO_MANY_RUNS, FROM_DYNAMIC_END, NOT_STATIC))
def index(op: edge.IndexTensorOp, b: NodeBuilder) -> SSAValue:
    """Elements by static indices of neighbouring dimensions, which are first made one."""
    value, indices = op.self, op.indices
    shape = b.shape(value)
    places = {dim: index for dim, index in enumerate(indices) if index is not None}
    first, last = min(places), max(places)
    if len(places) != last - first + 1:
        raise INDICES_APART()
    arrays = [b.numbers(index, "index") for index in places.values()]
    if any(array.dtype == np.bool_ for array in arrays):
        raise INDEXED_BY_MASK()
    sizes = shape[first : last + 1]
    if any(
        array.size and not -size <= array.min() <= array.max() < size for array, size in zip(arrays, sizes, strict=True)
    ):
        raise INDICES_OUTSIDE(sizes=list(sizes))
    check_length(prod(np.broadcast_shapes(*(array.shape for array in arrays))), prod(sizes))
    wrapped = [array % size for array, size in zip(arrays, sizes, strict=True)]
    flat = np.ravel_multi_index(tuple(np.broadcast_arrays(*wrapped)), sizes)
    merged = b.reshape(value, (*shape[:first], prod(sizes), *shape[last + 1 :]))
    return b.reshape(taken(b, merged, first, flat.reshape(-1).tolist()), b.shape(op.results[0]))


@rule(refuses=(INDEX_OUTSIDE, TOO_MANY_RUNS, NOT_STATIC, FROM_DYNAMIC_END))
def gather(op: edge.GatherOp, b: NodeBuilder) -> SSAValue:
    """Elements by a static index, one for each element of the result; a scalar counts as a vector."""
    value, index = op.self, b.numbers(op.index, "index")
    result, index = index.shape, np.atleast_1d(index)
    value = b.reshape(value, b.shape(value) or (1,))
    shape, dim = b.shape(value), op.dim % rank_of(value)
    if index.min() < 0 or index.max() >= shape[dim]:
        raise INDEX_OUTSIDE(size=shape[dim])
    check_length(index.size, prod(shape))
    places = np.indices(index.shape)
    places[dim] = index
    flat = np.ravel_multi_index(tuple(places), shape)
    elements = taken(b, b.reshape(value, (prod(shape),)), 0, flat.reshape(-1).tolist())
    return b.reshape(elements, result)


@rule(refuses=(FROM_DYNAMIC_END,))
def diagonal(op: edge.DiagonalOp, b: NodeBuilder) -> SSAValue:
    """The diagonal of two dimensions, as the last one: with both made one, its elements have one distance."""
    value, offset = op.self, op.offset
    rank = rank_of(value)
    pair = (op.dim1 % rank, op.dim2 % rank)
    value = b.transpose(value, (*(d for d in range(rank) if d not in pair), *pair))
    *rest, _, columns = b.shape(value)
    result = b.shape(op.results[0])
    start, step = (offset if offset >= 0 else -offset * columns), columns + 1
    flat = b.reshape(value, (*rest, prod(b.shape(value)[-2:])))
    return every(b, flat, rank - 2, start, start + (result[-1] - 1) * step + 1, step)


def check_length(count: int, size: int) -> None:
    """TOO_MANY_RUNS where `count` indices of `size` elements are too many: no run holds an element twice."""
    if (least := -(-count // size)) > MAX_RUNS:
        raise TOO_MANY_RUNS(count=f"at least {least}", most=MAX_RUNS)


def taken(b: NodeBuilder, value: SSAValue, dim: int, index: Sequence[int]) -> SSAValue:
    """The elements of `index` along a dimension."""
    runs: list[list[int]] = []
    for i in index:
        if runs and i == sum(runs[-1]):
            runs[-1][1] += 1
        else:
            runs.append([i, 1])
    if len(runs) > MAX_RUNS:
        raise TOO_MANY_RUNS(count=len(runs), most=MAX_RUNS)
    return joined(b, [run(b, value, dim, start, size) for start, size in runs], dim)


@rule(quantized=Quantized.MOVES, refuses=(FROM_DYNAMIC_END, NO_DONOR, UNBOUNDED))
def select(op: edge.SelectIntOp, b: NodeBuilder) -> SSAValue:
    """One index of one dimension, which goes away."""
    value = op.self
    shape, dim = b.shape(value), op.dim % rank_of(value)
    place = wrap_index(b.integer(op.index), shape[dim])
    return b.reshape(part(b, value, dim, place, 1), (*shape[:dim], *shape[dim + 1 :]))


def wrap_index(index: int, size: int) -> int:
    """An index counted from 0: a negative one counts from the end."""
    return index + size if index < 0 else index


def clamp_index(index: int, size: int) -> int:
    """An index as Python's slices read it: negative from the end, cut to the dimension."""
    if not isinstance(index, SymbolicSize) and index >= END:
        return size
    return min(max(wrap_index(index, size), 0), size)


def padding_by_dimension(pad: Sequence[int], rank: int) -> tuple[list[int], list[int]]:
    """(before, after) for each dimension; ATen lists such pairs from the last dimension on."""
    before, after = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        before[-1 - i], after[-1 - i] = pad[2 * i], pad[2 * i + 1]
    return before, after


@rule(quantized=Quantized.MOVES, refuses=(NOTHING_LEFT, FROM_DYNAMIC_END, NO_DONOR, UNBOUNDED))
def constant_pad_nd(op: edge.ConstantPadNdOp, b: NodeBuilder) -> SSAValue:
    """Surround with a constant; negative padding cuts, an open end behind the border: then something is always left."""
    value = op.self
    shape = b.shape(value)
    before, after = padding_by_dimension(b.integers(op.pad), len(shape))
    late = [isinstance(d, SymbolicSize) and p > 0 > q for d, p, q in zip(shape, before, after, strict=True)]
    ends = [0 if is_late else max(-q, 0) for is_late, q in zip(late, after, strict=True)]
    for dim, (size, first, last) in enumerate(zip(shape, before, ends, strict=True)):
        offset = max(-first, 0)
        if size - offset - last < 1:
            raise NOTHING_LEFT()
        value = part(b, value, dim, offset, size - offset - last)
    value = pad_with(b, value, [max(p, 0) for p in before], [max(p, 0) for p in after], float(op.value))
    for dim, is_late in enumerate(late):
        if is_late:
            value = part(b, value, dim, 0, b.shape(value)[dim] + after[dim])
    return value


@rule(quantized=Quantized.MOVES, refuses=(FROM_DYNAMIC_END,))
def split(op: edge.SplitTensorOp | edge.SplitWithSizesOp | edge.UnbindIntOp, b: NodeBuilder) -> list[SSAValue]:
    """Cut one dimension into runs, a result each; `unbind` drops the dimension."""
    value = op.self
    dim, start = op.dim % rank_of(value), 0
    pieces: list[SSAValue] = []
    for result in op.results:
        size = 1 if isinstance(op, edge.UnbindIntOp) else b.shape(result)[dim]
        pieces.append(b.reshape(run(b, value, dim, start, size), b.shape(result)))
        start += size
    return pieces


@rule(quantized=Quantized.MOVES)
def stack(op: edge.StackOp, b: NodeBuilder) -> SSAValue:
    """Join tensors along a new dimension."""
    shape = b.shape(op.results[0])
    dim = op.dim % len(shape)
    widened = (*shape[:dim], 1, *shape[dim + 1 :])
    return joined(b, [b.reshape(value, widened) for value in op.tensors], dim)


@rule(quantized=Quantized.MOVES, symbolic=True, refuses=(DYNAMIC_PART, NO_DONOR, FROM_DYNAMIC_END))
def repeat(op: edge.RepeatOp, b: NodeBuilder) -> SSAValue:
    """Lay copies side by side in each dimension; as many as a size says where that is of size 1, as `expand` does."""
    value, repeats = op.self, b.integers(op.repeats)
    value = b.reshape(value, (1,) * (len(repeats) - rank_of(value)) + b.shape(value))
    for dim, count in enumerate(repeats):
        if not isinstance(count, SymbolicSize):
            value = joined(b, [value] * count, dim)
    shape = b.shape(value)
    counts = [count if isinstance(count, SymbolicSize) else 1 for count in repeats]
    if any(size != 1 and count != 1 for size, count in zip(shape, counts, strict=True)):
        raise DYNAMIC_PART(what="number of copies")
    return spread(b, value, tuple(size * count for size, count in zip(shape, counts, strict=True)))


@rule(quantized=Quantized.MOVES, refuses=(FROM_DYNAMIC_END, NO_DONOR, UNBOUNDED))
def roll(op: edge.RollOp, b: NodeBuilder) -> SSAValue:
    """Move elements along dimensions, or all in a row, those that leave coming in on the other side."""
    value, dims = op.self, op.dims
    shape = result = b.shape(value)
    if not dims:
        shape, dims = (prod(shape),), (0,)
    value = b.reshape(value, shape)
    for shift, axis in zip(b.integers(op.shifts), dims, strict=True):
        dim = axis % len(shape)
        cut = wrap_index(-shift, shape[dim]) if isinstance(shape[dim], SymbolicSize) else -shift % shape[dim]
        if cut:
            first = part(b, value, dim, cut, shape[dim] - cut)
            if isinstance(cut, SymbolicSize):  # in this order something is always left
                value = part(b, joined(b, [first, value], dim), dim, 0, shape[dim])
            else:
                value = joined(b, [first, part(b, value, dim, 0, cut)], dim)
    return b.reshape(value, result)
