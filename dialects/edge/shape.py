"""Ops that move elements and compute none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.ir import shapes
from xir.ir.symbolic_size import is_dynamic

from .accessors import Size
from .base import EdgeOp, row
from .elementwise import same
from .types import (
    Shape,
    broadcast,
    count,
    element_of,
    known,
    promote,
    replaced,
    same_dim,
    shape_of,
    shape_text,
    tensor_type,
    wrap_dim,
    wrap_dims,
)

if TYPE_CHECKING:
    from . import ops

    BorderPad = (
        ops.ReflectionPad1dOp
        | ops.ReflectionPad2dOp
        | ops.ReflectionPad3dOp
        | ops.ReplicationPad1dOp
        | ops.ReplicationPad2dOp
        | ops.ReplicationPad3dOp
    )
    SplitT = TypeVar("SplitT", ops.SplitTensorOp, ops.SplitWithSizesOp)


def _reshaped(op: EdgeOp, shape: Shape) -> Sequence[Attribute]:
    return (tensor_type(element_of(op.operands[0]), shape),)


def _view(op: ops.ViewOp | ops.UnsafeViewOp) -> Sequence[Attribute]:
    shape, target = shape_of(op.self), op.size
    sizes, total = tuple(map(known, target)), count(shape)
    inferred = [i for i, size in enumerate(target) if isinstance(size, int) and size == -1]
    if len(inferred) > 1:
        raise VerifyException("size has more than one -1")
    fits = True
    if inferred:
        rest = count(size for i, size in enumerate(sizes) if i not in inferred)
        is_known = DYNAMIC_INDEX not in (total, rest)
        fits = not is_known or (rest > 0 and total % rest == 0)
        sizes = replaced(sizes, inferred[0], total // rest if fits and is_known else DYNAMIC_INDEX)
    else:
        fits = same_dim(count(sizes), total)
    if not fits:
        raise VerifyException(f"cannot view {shape_text(shape)} as {shape_text(sizes)}")
    return _reshaped(op, sizes)


def _squeeze(op: ops.SqueezeOp) -> Sequence[Attribute]:
    return _without(op, range(len(shape_of(op.self))))


def _squeeze_dim(op: ops.SqueezeDimOp) -> Sequence[Attribute]:
    return _without(op, (op.dim,))


def _squeeze_dims(op: ops.SqueezeDimsOp) -> Sequence[Attribute]:
    return _without(op, op.dim)


def _without(op: ops.SqueezeOp | ops.SqueezeDimOp | ops.SqueezeDimsOp, given: Sequence[int]) -> Sequence[Attribute]:
    """The type without those of the given dimensions that have size 1."""
    shape = shape_of(op.self)
    dims = wrap_dims(tuple(given), len(shape))
    return _reshaped(op, tuple(size for i, size in enumerate(shape) if size != 1 or i not in dims))


def _unsqueeze(op: ops.UnsqueezeOp) -> Sequence[Attribute]:
    shape = shape_of(op.self)
    dim = wrap_dim(op.dim, len(shape) + 1)
    return _reshaped(op, (*shape[:dim], 1, *shape[dim:]))


def _permute(op: ops.PermuteOp) -> Sequence[Attribute]:
    shape = shape_of(op.self)
    dims = wrap_dims(op.dims, len(shape))
    if len(dims) != len(shape):
        raise VerifyException(f"dims {list(dims)} do not order {len(shape)} dimensions")
    return _reshaped(op, tuple(shape[d] for d in dims))


def _transpose(op: ops.TransposeIntOp) -> Sequence[Attribute]:
    shape = list(shape_of(op.self))
    a, b = wrap_dim(op.dim0, len(shape)), wrap_dim(op.dim1, len(shape))
    if shape:
        shape[a], shape[b] = shape[b], shape[a]
    return _reshaped(op, tuple(shape))


def _t(op: ops.TOp) -> Sequence[Attribute]:
    shape = shape_of(op.self)
    if len(shape) > 2:
        raise VerifyException("takes at most two dimensions")
    return _reshaped(op, shape[::-1])


def _expand(op: ops.ExpandOp) -> Sequence[Attribute]:
    shape, size = shape_of(op.self), op.size
    lead = len(size) - len(shape)
    if lead < 0 or any(isinstance(s, int) and s == -1 for s in size[:lead]):
        raise VerifyException(f"cannot expand {shape_text(shape)} to {len(size)} dimensions")
    result = list(map(known, size[:lead]))
    for old, new in zip(shape, size[lead:], strict=True):
        wanted = old if isinstance(new, int) and new == -1 else known(new)
        if old != 1 and not same_dim(old, wanted):
            raise VerifyException(f"cannot expand {shape_text(shape)} to {shape_text(tuple(map(known, size)))}")
        result.append(wanted)
    return _reshaped(op, tuple(result))


def _repeat(op: ops.RepeatOp) -> Sequence[Attribute]:
    shape, repeats = shape_of(op.self), [known(r) for r in op.repeats]
    if len(repeats) < len(shape):
        raise VerifyException(f"has {len(repeats)} repeats for {len(shape)} dimensions")
    shape = (1,) * (len(repeats) - len(shape)) + shape
    return _reshaped(op, tuple(DYNAMIC_INDEX if min(d, r) < 0 else d * r for d, r in zip(shape, repeats, strict=True)))


def _cat(op: ops.CatOp) -> Sequence[Attribute]:
    values = op.tensors
    if not values:
        raise VerifyException("needs at least one tensor")
    element = element_of(values[0])
    for value in values[1:]:
        element = promote(element, element_of(value))
    shapes = [shape_of(v) for v in values if shape_of(v) != (0,)]  # ATen passes over empty vectors
    if not shapes:
        return (tensor_type(element, (0,)),)
    first = shapes[0]
    if not first:
        raise VerifyException("cannot join scalars")
    dim = wrap_dim(op.dim, len(first))
    for shape in shapes[1:]:
        if len(shape) != len(first) or not all(
            same_dim(a, b) for i, (a, b) in enumerate(zip(first, shape, strict=True)) if i != dim
        ):
            raise VerifyException(f"{shape_text(first)} and {shape_text(shape)} differ outside dimension {dim}")
    sizes = [shape[dim] for shape in shapes]
    return (tensor_type(element, replaced(first, dim, DYNAMIC_INDEX if min(sizes) < 0 else sum(sizes))),)


def _stack(op: ops.StackOp) -> Sequence[Attribute]:
    values = op.tensors
    if not values:
        raise VerifyException("needs at least one tensor")
    shape = shape_of(values[0])
    if any(len(shape_of(v)) != len(shape) or not all(map(same_dim, shape_of(v), shape)) for v in values):
        raise VerifyException("tensors differ in shape")
    element = element_of(values[0])
    for value in values[1:]:
        element = promote(element, element_of(value))
    dim = wrap_dim(op.dim, len(shape) + 1)
    return (tensor_type(element, (*shape[:dim], len(values), *shape[dim:])),)


def _pieces(op: SplitT, sizes: Callable[[SplitT, int], Sequence[int] | None]) -> Sequence[Attribute | None]:
    value = op.self
    shape = shape_of(value)
    dim = wrap_dim(op.dim, len(shape))
    pieces = sizes(op, shape[dim]) if shape else None
    if pieces is None:
        return (None,) * len(op.results)
    return tuple(tensor_type(element_of(value), replaced(shape, dim, size)) for size in pieces)


def _split_sizes(op: ops.SplitTensorOp, total: int) -> Sequence[int] | None:
    size = known(op.split_size)
    if is_dynamic(total) or is_dynamic(size):
        return None
    if size == 0 and total == 0:
        return [0]
    if size == 0:
        raise VerifyException("split_size is at least 1")
    pieces = -(-total // size)
    if op.results and pieces != len(op.results):
        raise VerifyException(f"cuts {total} elements into {pieces} pieces, it has {len(op.results)} results")
    return [min(size, total - start) for start in range(0, total, size)]


def _given_sizes(op: ops.SplitWithSizesOp, total: int) -> Sequence[int] | None:
    sizes = [known(size) for size in op.split_sizes]
    if total >= 0 and count(sizes) >= 0 and sum(sizes) != total:
        raise VerifyException(f"split_sizes add up to {sum(sizes)}, the dimension has {total}")
    return sizes


def _split(op: ops.SplitTensorOp) -> Sequence[Attribute | None]:
    return _pieces(op, _split_sizes)


def _split_with_sizes(op: ops.SplitWithSizesOp) -> Sequence[Attribute | None]:
    return _pieces(op, _given_sizes)


def _unbind(op: ops.UnbindIntOp) -> Sequence[Attribute | None]:
    value = op.self
    shape = shape_of(value)
    dim = wrap_dim(op.dim, len(shape))
    if not shape:
        raise VerifyException("cannot unbind a scalar")
    if is_dynamic(shape[dim]):
        return (None,) * len(op.results)
    return (tensor_type(element_of(value), shape[:dim] + shape[dim + 1 :]),) * shape[dim]


def sliced_size(size: int, start: Any, end: Any, step: Any) -> int:
    """Element count of `range(size)[start:end:step]`; DYNAMIC_INDEX if one of them is not known yet."""
    start, end = 0 if start is None else start, size if end is None else end
    if size == DYNAMIC_INDEX or not all(isinstance(v, int) for v in (start, end, step)):
        return DYNAMIC_INDEX
    return shapes.sliced_size(size, start, end, step)


def _slice(op: ops.SliceTensorOp) -> Sequence[Attribute]:
    shape = shape_of(op.self)
    if not shape:
        raise VerifyException("cannot slice a scalar")
    dim, step = wrap_dim(op.dim, len(shape)), op.step
    if isinstance(step, int) and step < 1:
        raise VerifyException("step is at least 1")
    return _reshaped(op, replaced(shape, dim, sliced_size(shape[dim], op.start, op.end, step)))


def _select(op: ops.SelectIntOp) -> Sequence[Attribute]:
    shape = shape_of(op.self)
    dim, index = wrap_dim(op.dim, len(shape)), op.index
    if not shape or (isinstance(index, int) and shape[dim] >= 0 and not -shape[dim] <= index < shape[dim]):
        raise VerifyException(f"index {index} is out of range for dimension {dim} of {shape_text(shape)}")
    return _reshaped(op, shape[:dim] + shape[dim + 1 :])


def _diagonal(op: ops.DiagonalOp) -> Sequence[Attribute]:
    shape = shape_of(op.self)
    a, b = wrap_dims((op.dim1, op.dim2), len(shape))
    offset = op.offset
    rest = tuple(size for i, size in enumerate(shape) if i not in (a, b))
    if shape[a] < 0 or shape[b] < 0:
        return _reshaped(op, (*rest, DYNAMIC_INDEX))
    length = min(shape[a] + min(offset, 0), shape[b] - max(offset, 0))
    return _reshaped(op, (*rest, max(length, 0)))


def _flip(op: ops.FlipOp) -> Sequence[Attribute]:
    wrap_dims(op.dims, len(shape_of(op.self)))
    return same(op)


def _roll(op: ops.RollOp) -> Sequence[Attribute]:
    rank = len(shape_of(op.self))
    dims = [wrap_dim(dim, rank) for dim in op.dims]
    if len(op.shifts) != (len(dims) or 1):
        raise VerifyException(f"{len(op.shifts)} shifts for {len(dims)} dimensions")
    return same(op)


def _scattered(op: ops.SelectScatterOp | ops.SliceScatterOp) -> Sequence[Attribute]:
    wrap_dim(op.dim, len(shape_of(op.self)))
    return same(op)


def _constant_pad(op: ops.ConstantPadNdOp) -> Sequence[Attribute]:
    return _padded(op, op.self, "pad", op.pad)


def _border_pad(op: BorderPad) -> Sequence[Attribute]:
    return _padded(op, op.self, "padding", op.padding)


def _padded(op: EdgeOp, value: SSAValue, name: str, padding: Sequence[Size]) -> Sequence[Attribute]:
    """The type with (before, after) pairs added, the last dimension's first; the argument's name is for errors."""
    shape = list(shape_of(value))
    if len(padding) % 2 or len(padding) > 2 * len(shape):
        raise VerifyException(f"{name} has {len(padding)} values for {len(shape)} dimensions")
    for i in range(len(padding) // 2):
        before, after = padding[2 * i : 2 * i + 2]
        dim = len(shape) - 1 - i
        if shape[dim] < 0 or not isinstance(before, int) or not isinstance(after, int):
            shape[dim] = DYNAMIC_INDEX
            continue
        shape[dim] += before + after
        if shape[dim] < 0:
            raise VerifyException(f"{name} cuts off more than dimension {dim} has")
    return _reshaped(op, tuple(shape))


def _as_strided(op: ops.AsStridedOp) -> Sequence[Attribute]:
    if len(op.size) != len(op.stride):
        raise VerifyException("size and stride differ in length")
    return _reshaped(op, tuple(known(size) for size in op.size))


def _converted(op: ops.ToCopyOp) -> Sequence[Attribute]:
    value = op.self
    return (tensor_type(op.dtype or element_of(value), shape_of(value)),)


def _dropout(op: ops.DropoutOp) -> Sequence[Attribute]:
    if op.train and op.p > 0:
        raise VerifyException("is for inference: train = false")
    return same(op)


def _copy(op: ops.CopyOp) -> Sequence[Attribute]:
    shape, source = shape_of(op.self), shape_of(op.src)
    if broadcast(shape, source) != shape:
        raise VerifyException(f"src {shape_text(source)} does not expand to {shape_text(shape)}")
    return same(op)


def _triangle(op: ops.TrilOp | ops.TriuOp) -> Sequence[Attribute]:
    value = op.self
    if len(shape_of(value)) < 2:
        raise VerifyException(f"takes matrices, not a tensor of shape {shape_text(shape_of(value))}")
    return same(op)


COPIES = [
    row("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", "The same value.",
        out="clone.out", infer=same),
    row("aten::alias(Tensor self) -> Tensor", "The same value.", out="alias_copy.out", infer=same),
    row("aten::detach(Tensor self) -> Tensor", "The same value.", out="detach_copy.out", infer=same),
    row("aten::contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format) -> Tensor",
        "The same value.", infer=same),
    row("aten::lift_fresh_copy(Tensor self) -> Tensor", "The same value.", out="lift_fresh_copy.out", infer=same),
    row("aten::dropout(Tensor input, float p, bool train) -> Tensor",
        "The same value, since programs are compiled for inference (train = false).", infer=_dropout),
    row("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
        "src, expanded and converted to the type of self.", out="copy.out", in_place="copy_", infer=_copy),
    row("aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
        "The value converted to another element type.", out="_to_copy.out", infer=_converted),
]  # fmt: skip

VIEWS = [
    row("aten::view(Tensor self, SymInt[] size) -> Tensor", "The elements, in order, in another shape.",
        out="view_copy.out", infer=_view),
    row("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", "view of a value that has no other users.",
        out="_unsafe_view.out", infer=_view),
    row("aten::squeeze(Tensor self) -> Tensor", "Drops dimensions of size 1.", out="squeeze_copy.out", infer=_squeeze),
    row("aten::squeeze.dim(Tensor self, int dim) -> Tensor", "Drops one dimension, if its size is 1.",
        out="squeeze_copy.dim_out", infer=_squeeze_dim),
    row("aten::squeeze.dims(Tensor self, int[] dim) -> Tensor", "Drops those of the dimensions whose size is 1.",
        out="squeeze_copy.dims_out", infer=_squeeze_dims),
    row("aten::unsqueeze(Tensor self, int dim) -> Tensor", "Inserts a dimension of size 1.",
        out="unsqueeze_copy.out", infer=_unsqueeze),
    row("aten::permute(Tensor self, int[] dims) -> Tensor", "Dimension i of the result is dims[i] of the operand.",
        out="permute_copy.out", infer=_permute),
    row("aten::transpose.int(Tensor self, int dim0, int dim1) -> Tensor", "Swaps two dimensions.",
        out="transpose_copy.int_out", infer=_transpose),
    row("aten::t(Tensor self) -> Tensor", "Transposes a matrix.", out="t_copy.out", infer=_t),
    row("aten::expand(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
        "Repeats dimensions of size 1; -1 keeps one.", out="expand_copy.out", infer=_expand),
    row("aten::slice.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
        "self[start:end:step] of one dimension.", out="slice_copy.Tensor_out", infer=_slice),
    row("aten::select.int(Tensor self, int dim, SymInt index) -> Tensor", "self[index] of one dimension.",
        out="select_copy.int_out", infer=_select),
    row("aten::diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
        "The diagonal of two dimensions, as the last one.", out="diagonal_copy.out", infer=_diagonal),
    row("aten::as_strided(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
        "Elements by strides over the operand's contiguous elements.", out="as_strided_copy.out", infer=_as_strided),
    row("aten::split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
        "Pieces of one size; the last may be smaller.", out="split_copy.Tensor_out", infer=_split),
    row("aten::split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
        "Pieces of given sizes.", out="split_with_sizes_copy.out", infer=_split_with_sizes),
    row("aten::unbind.int(Tensor self, int dim=0) -> Tensor[]", "self[i] for every i of one dimension.",
        out="unbind_copy.int_out", infer=_unbind),
]  # fmt: skip

REARRANGEMENTS = [
    row("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", "Tiles the operand.", out="repeat.out",
        infer=_repeat),
    row("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", "Joins tensors along a dimension.", out="cat.out",
        infer=_cat),
    row("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", "Joins tensors along a new dimension.",
        out="stack.out", infer=_stack),
    row("aten::flip(Tensor self, int[] dims) -> Tensor", "Reverses dimensions.", out="flip.out", infer=_flip),
    row("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", "Rotates along dimensions.",
        out="roll.out", infer=_roll),
    row("aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
        "Adds a border of one value; negative sizes cut. Pairs (before, after), the last dimension's first.",
        out="constant_pad_nd.out", infer=_constant_pad),
    *(
        row(f"aten::{kind}_pad{n}d(Tensor self, SymInt[{2 * n}] padding) -> Tensor", doc,
            out=f"{kind}_pad{n}d.out", infer=_border_pad)
        for kind, doc in (("reflection", "Adds a border that mirrors the inside."),
                          ("replication", "Adds a border of copies of the edge."))
        for n in (1, 2, 3)
    ),
    row("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
        "self with self[index] of one dimension replaced.", out="select_scatter.out", infer=_scattered),
    row("aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
        "SymInt step=1) -> Tensor", "self with self[start:end:step] of one dimension replaced.",
        out="slice_scatter.out", infer=_scattered),
    row("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", "Zero above the diagonal.", out="tril.out",
        infer=_triangle),
    row("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", "Zero below the diagonal.", out="triu.out",
        infer=_triangle),
]  # fmt: skip

ROWS = [*COPIES, *VIEWS, *REARRANGEMENTS]
