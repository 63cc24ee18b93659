"""Reductions, and ops that run along dimensions without reducing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import f32, i1, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from .base import EdgeOp, row
from .types import Shape, element_of, is_integral, known, replaced, shape_of, tensor_type, ui8, wrap_dim, wrap_dims

if TYPE_CHECKING:
    from . import ops


def reduced_shape(op: EdgeOp, empty_is_all: bool = True) -> Shape:
    """The shape after a reduction by the arguments `dim` and `keepdim`, where the op has them.

    It serves some twenty rows, which differ in the arguments that they have: it asks for them by name.
    """
    shape = shape_of(op.argument("self"))
    dim = op.argument("dim") if "dim" in op.schema.values else None
    if dim is None or (dim == () and empty_is_all):
        dims = tuple(range(len(shape)))
    else:
        dims = wrap_dims((dim,) if isinstance(dim, int) else dim, len(shape))
    if "keepdim" in op.schema.values and op.argument("keepdim"):
        return tuple(1 if i in dims else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in dims)


def _self(op: EdgeOp) -> Attribute:
    return element_of(op.argument("self"))


def _dtype_or_self(op: EdgeOp) -> Attribute:
    return op.argument("dtype") or _self(op)


def _dtype_or_sum(op: EdgeOp) -> Attribute:
    """Integers add up in i64."""
    return op.argument("dtype") or (i64 if is_integral(_self(op)) else _self(op))


def _truth(op: EdgeOp) -> Attribute:
    return ui8 if _self(op) == ui8 else i1


def _index(op: EdgeOp) -> Attribute:
    return i64


def _reduction(
    *elements: Callable[[EdgeOp], Attribute], empty_is_all: bool = True
) -> Callable[[EdgeOp], Sequence[Attribute]]:
    def infer(op: EdgeOp) -> Sequence[Attribute]:
        shape = reduced_shape(op, empty_is_all)
        return tuple(tensor_type(element(op), shape) for element in elements)

    return infer


def _along(element: Callable[[EdgeOp], Attribute]) -> Callable[[EdgeOp], Sequence[Attribute]]:
    """The shape stays; `dim` has to be one of its dimensions."""

    def infer(op: EdgeOp) -> Sequence[Attribute]:
        shape = shape_of(op.argument("self"))
        wrap_dim(op.argument("dim"), len(shape))
        return (tensor_type(element(op), shape),)

    return infer


def _half_to_float(op: EdgeOp) -> Attribute:
    return f32 if op.argument("half_to_float") else _self(op)


def _topk(op: ops.TopkOp) -> Sequence[Attribute]:
    shape, k = shape_of(op.self), known(op.k)
    dim = wrap_dim(op.dim, len(shape))
    if shape and 0 <= shape[dim] < k:
        raise VerifyException(f"k is {k}, larger than dimension {dim} ({shape[dim]})")
    shape = replaced(shape, dim, k) if shape else shape
    return (tensor_type(_self(op), shape), tensor_type(i64, shape))


def _sort(op: ops.SortOp) -> Sequence[Attribute]:
    shape = shape_of(op.self)
    wrap_dim(op.dim, len(shape))
    return (tensor_type(_self(op), shape), tensor_type(i64, shape))


ROWS = [
    row("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", "Mean of all elements.",
        out="mean.dtype_out", infer=_reduction(_dtype_or_self)),
    row("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "Mean over dimensions.", out="mean.out", infer=_reduction(_dtype_or_self)),
    row("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", "Sum of all elements.",
        out="sum.out", infer=_reduction(_dtype_or_sum)),
    row("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "Sum over dimensions.", out="sum.IntList_out", infer=_reduction(_dtype_or_sum)),
    row("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", "Product of all elements.",
        out="prod.out", infer=_reduction(_dtype_or_sum)),
    row("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "Product over one dimension.", out="prod.int_out", infer=_reduction(_dtype_or_sum)),
    row("aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
        "ScalarType? dtype=None) -> Tensor", "(sum of |x|^ord)^(1/ord) over dimensions.",
        out="linalg_vector_norm.out", infer=_reduction(_dtype_or_self)),
    row("aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", "Maximum over dimensions.",
        out="amax.out", infer=_reduction(_self)),
    row("aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", "Minimum over dimensions.",
        out="amin.out", infer=_reduction(_self)),
    row("aten::max(Tensor self) -> Tensor", "Maximum of all elements.", out="max.unary_out", infer=_reduction(_self)),
    row("aten::min(Tensor self) -> Tensor", "Minimum of all elements.", out="min.unary_out", infer=_reduction(_self)),
    row("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        "Maximum over one dimension, and where it is.", out="max.dim_max", infer=_reduction(_self, _index)),
    row("aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        "Minimum over one dimension, and where it is.", out="min.dim_min", infer=_reduction(_self, _index)),
    row("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", "Where the maximum is.",
        out="argmax.out", infer=_reduction(_index)),
    row("aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", "Where the minimum is.",
        out="argmin.out", infer=_reduction(_index)),
    row("aten::any(Tensor self) -> Tensor", "Whether an element is not zero.", out="any.all_out",
        infer=_reduction(_truth)),
    row("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        "Whether an element along the dimension is not zero.", out="any.out", infer=_reduction(_truth)),
    row("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        "Whether an element along the dimensions is not zero.", out="any.dims_out",
        infer=_reduction(_truth, empty_is_all=False)),
    row("aten::all(Tensor self) -> Tensor", "Whether no element is zero.", out="all.all_out",
        infer=_reduction(_truth)),
    row("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        "Whether no element along the dimension is zero.", out="all.out", infer=_reduction(_truth)),
    row("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        "Variance over dimensions.", out="var.out", infer=_reduction(_self)),
    row("aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
        "Variance over dimensions; the divisor is the count less the correction (1).", out="var.correction_out",
        infer=_reduction(_self)),
    row("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", "Softmax along a dimension.",
        out="_softmax.out", infer=_along(_half_to_float)),
    row("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
        "Logarithm of softmax along a dimension.", out="_log_softmax.out", infer=_along(_half_to_float)),
    row("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", "Running sum along a dimension.",
        out="cumsum.out", infer=_along(_dtype_or_sum)),
    row("aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) "
        "-> (Tensor values, Tensor indices)", "The k largest or smallest elements along a dimension.",
        out="topk.values", infer=_topk),
    row("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
        "Elements in order along a dimension.", out="sort.values", infer=_sort),
]  # fmt: skip
