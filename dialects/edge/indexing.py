"""Ops that look elements up by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from .base import row
from .elementwise import same
from .types import broadcast, element_of, replaced, shape_of, shape_text, tensor_type, ui8, wrap_dim

if TYPE_CHECKING:
    from . import ops


def _embedding(op: ops.EmbeddingOp) -> Sequence[Attribute]:
    weight, indices = op.weight, op.indices
    if len(shape_of(weight)) != 2:
        raise VerifyException(f"weight has shape {shape_text(shape_of(weight))}, expected [rows, features]")
    return (tensor_type(element_of(weight), (*shape_of(indices), shape_of(weight)[1])),)


def _gather(op: ops.GatherOp) -> Sequence[Attribute]:
    value, index = op.self, op.index
    if max(len(shape_of(value)), 1) != max(len(shape_of(index)), 1):  # a scalar counts as a vector
        raise VerifyException("self and index differ in rank")
    wrap_dim(op.dim, len(shape_of(value)))
    return (tensor_type(element_of(value), shape_of(index)),)


def _index(op: ops.IndexTensorOp) -> Sequence[Attribute | None]:
    """The index tensors broadcast; their dimensions take the place of those they index, or go first where something
    else stands between them."""
    value, indices = op.self, op.indices
    shape = shape_of(value)
    if len(indices) > len(shape):
        raise VerifyException(f"has {len(indices)} indices for {len(shape)} dimensions")
    places = [i for i, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if floats := [element_of(index) for index in given if not isinstance(element_of(index), IntegerType)]:
        raise VerifyException(f"indices have elements of type {floats[0]}, expected integers or booleans")
    if not given or any(element_of(index) in (i1, ui8) for index in given):
        return (None,)  # a mask: as many elements as it has ones
    looked_up = broadcast(*map(shape_of, given))
    rest = [size for i, size in enumerate(shape) if i not in places]
    start = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
    return (tensor_type(element_of(value), (*rest[:start], *looked_up, *rest[start:])),)


def _replaces_slices(op: ops.IndexPutOp) -> bool:
    """Whether one vector of positions says which slices of a dimension `values` are: all that `aten::index_put_` of
    ExecuTorch takes (kernels/portable/cpu/op_index_put.cpp). It takes no negative positions."""
    shape = shape_of(op.self)
    given = [(dim, index) for dim, index in enumerate(op.indices) if index is not None]
    if op.accumulate or len(given) != 1:
        return False
    dim, index = given[0]
    return (
        element_of(index) in (i32, i64)
        and len(shape_of(index)) == 1
        and shape_of(op.values) == replaced(shape, dim, shape_of(index)[0])
    )


def _index_select(op: ops.IndexSelectOp) -> Sequence[Attribute]:
    value, index = op.self, shape_of(op.index)
    shape = shape_of(value)
    dim = wrap_dim(op.dim, len(shape))
    if len(index) > 1:
        raise VerifyException(f"index has rank {len(index)}, expected 1")
    shape = replaced(shape, dim, index[0] if index else 1) if shape else shape
    return (tensor_type(element_of(value), shape),)


def _masked_scatter(op: ops.MaskedScatterOp) -> Sequence[Attribute]:
    value = op.self
    return (tensor_type(element_of(value), broadcast(shape_of(value), shape_of(op.mask))),)


def _scatter(
    op: ops.ScatterSrcOp | ops.ScatterValueOp | ops.ScatterAddOp | ops.ScatterReduceTwoOp,
) -> Sequence[Attribute]:
    wrap_dim(op.dim, len(shape_of(op.self)))
    return same(op)


def _nonzero(op: ops.NonzeroOp) -> Sequence[Attribute]:
    return (tensor_type(i64, (DYNAMIC_INDEX, len(shape_of(op.self)))),)


ROWS = [
    row("aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
        "bool sparse=False) -> Tensor", "Rows of weight.", out="embedding.out", infer=_embedding),
    row("aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
        "Elements whose position along a dimension the index gives.", out="gather.out", infer=_gather),
    row("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
        "self[indices]; an index that is none stands for the whole dimension.", out="index.Tensor_out", infer=_index),
    row("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", "Slices of one dimension.",
        out="index_select.out", infer=_index_select),
    row("aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
        "self with self[indices] replaced, or added to.", out="index_put.out", in_place="index_put_",
        in_place_if=_replaces_slices, infer=same),
    row("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
        "self with the elements at the index replaced.", out="scatter.src_out", infer=_scatter),
    row("aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
        "self with the elements at the index replaced by one value.", out="scatter.value_out", infer=_scatter),
    row("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
        "self with src added at the index.", out="scatter_add.out", infer=_scatter),
    row("aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
        "bool include_self=True) -> Tensor", "self combined with src at the index.", out="scatter_reduce.two_out",
        infer=_scatter),
    row("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
        "self with the masked elements taken from source in order.", out="masked_scatter.out", infer=_masked_scatter),
    row("aten::nonzero(Tensor self) -> Tensor", "Positions of the elements that are not zero, [count, rank].",
        out="nonzero.out", infer=_nonzero),
]  # fmt: skip
