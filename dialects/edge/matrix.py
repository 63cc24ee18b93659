"""Matrix products and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from .base import row
from .types import Shape, broadcast, element_of, same_dim, same_shape, shape_of, shape_text, tensor_type

if TYPE_CHECKING:
    from . import ops


def _matrices(rank: int, **values: SSAValue) -> list[Shape]:
    """The shapes of operands by name, each of this rank."""
    for name, value in values.items():
        if len(shape_of(value)) != rank:
            raise VerifyException(f"{name} has rank {len(shape_of(value))}, expected {rank}")
    return [shape_of(value) for value in values.values()]


def _inner(a: Shape, b: Shape) -> None:
    """Check that the last dimension of `a` meets the last but one of `b`."""
    if not same_dim(a[-1], b[-2]):
        raise VerifyException(f"cannot multiply {shape_text(a)} by {shape_text(b)}")


def _mm(op: ops.MmOp) -> Sequence[Attribute]:
    a, b = _matrices(2, self=op.self, mat2=op.mat2)
    _inner(a, b)
    return (tensor_type(element_of(op.self), (a[0], b[1])),)


def _int_mm(op: ops.IntMmOp) -> Sequence[Attribute]:
    a, b = _matrices(2, self=op.self, mat2=op.mat2)
    _inner(a, b)
    return (tensor_type(i32, (a[0], b[1])),)


def _bmm(op: ops.BmmOp) -> Sequence[Attribute]:
    a, b = _matrices(3, self=op.self, mat2=op.mat2)
    _inner(a, b)
    if not same_dim(a[0], b[0]):
        raise VerifyException(f"batches of {shape_text(a)} and {shape_text(b)} differ")
    return (tensor_type(element_of(op.self), (a[0], a[1], b[2])),)


def _added(added: SSAValue, a: Shape, b: Shape, result: Shape) -> Sequence[Attribute]:
    _inner(a, b)
    # What is added may know the size of a dimension that is open in the product.
    expanded = broadcast(shape_of(added), result)
    if not same_shape(expanded, result):
        raise VerifyException(f"self {shape_text(shape_of(added))} does not expand to {shape_text(result)}")
    return (tensor_type(element_of(added), expanded),)


def _addmm(op: ops.AddmmOp) -> Sequence[Attribute]:
    a, b = _matrices(2, mat1=op.mat1, mat2=op.mat2)
    return _added(op.self, a, b, (a[0], b[1]))


def _baddbmm(op: ops.BaddbmmOp) -> Sequence[Attribute]:
    a, b = _matrices(3, batch1=op.batch1, batch2=op.batch2)
    return _added(op.self, a, b, (a[0], a[1], b[2]))


def _matmul(op: ops.MatmulOp) -> Sequence[Attribute]:
    value = op.self
    a, b = shape_of(value), shape_of(op.other)
    if not a or not b:
        raise VerifyException("operands have at least one dimension")
    left, right = a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)
    _inner(left, right)
    result = broadcast(left[:-2], right[:-2])
    if len(a) > 1:
        result += (left[-2],)
    if len(b) > 1:
        result += (right[-1],)
    return (tensor_type(element_of(value), result),)


def _linear(op: ops.LinearOp) -> Sequence[Attribute]:
    input, bias = op.input, op.bias
    shape, weight = shape_of(input), shape_of(op.weight)
    if not shape or len(weight) not in (1, 2) or not same_dim(shape[-1], weight[-1]):
        raise VerifyException(f"input {shape_text(shape)} does not fit weight {shape_text(weight)}")
    out = weight[:-1]
    if bias is not None and broadcast(shape_of(bias), (*shape[:-1], *out)) != (*shape[:-1], *out):
        raise VerifyException(f"bias has shape {shape_text(shape_of(bias))}, expected {shape_text(out)}")
    return (tensor_type(element_of(input), (*shape[:-1], *out)),)


def _check_groups(queries: Shape, *shared: Shape) -> None:
    """VerifyException unless heads of queries come in groups, each of which shares a head of keys and of values."""
    for each in (queries, *shared):
        if len(each) < 3:
            raise VerifyException(f"heads are dimension -3, and {shape_text(each)} has none")
    heads = queries[-3]
    for each in shared:
        if heads > 0 and each[-3] > 0 and heads % each[-3]:
            raise VerifyException(f"{heads} heads of queries are no multiple of {each[-3]} heads of keys")


def _attention(op: ops.ScaledDotProductAttentionOp) -> Sequence[Attribute]:
    q, k, v = (shape_of(value) for value in (op.query, op.key, op.value))
    if min(len(q), len(k), len(v)) < 2 or not same_dim(q[-1], k[-1]) or not same_dim(k[-2], v[-2]):
        raise VerifyException(f"query {shape_text(q)}, key {shape_text(k)} and value {shape_text(v)} do not fit")
    if op.enable_gqa:
        _check_groups(q, k, v)
    batch = q[:-2] if op.enable_gqa else broadcast(q[:-2], k[:-2], v[:-2])
    return (tensor_type(element_of(op.query), (*batch, q[-2], v[-1])),)


def _prefix_attention(op: ops.XirAttendPrefixOp) -> Sequence[Attribute]:
    q, k, v = _matrices(4, query=op.query, key=op.key, value=op.value)
    mask = shape_of(op.attn_mask)
    if k[:3] != v[:3] or not same_dim(q[0], k[0]) or not same_dim(q[3], k[3]):
        raise VerifyException(f"query {shape_text(q)}, key {shape_text(k)} and value {shape_text(v)} do not fit")
    _check_groups(q, k)
    rows = mask[-2:-1]
    fits = rows and all(size == 1 for size in mask[:-2]) and (rows[0] == 1 or same_dim(rows[0], q[2]))
    if not fits or mask[len(mask) - 1] > k[2] >= 0:
        raise VerifyException(f"mask {shape_text(mask)} does not fit query {shape_text(q)} and key {shape_text(k)}")
    _check_scales(key=(op.key, op.key_scales), value=(op.value, op.value_scales))
    return (tensor_type(element_of(op.query), (*q[:3], v[3])),)


def _check_scales(**caches: tuple[SSAValue, SSAValue | None]) -> None:
    """VerifyException unless a cache is of i8 with an f32 scale for each position and head, or of floats without."""
    for name, (cache, scales) in caches.items():
        if (element_of(cache) == i8) != (scales is not None):
            has = "no scales" if scales is None else "scales"
            raise VerifyException(f"{name} is of {element_of(cache)} and has {has}: i8 has scales, floats have none")
        expected = (*shape_of(cache)[:3], 1)
        if scales is not None and (element_of(scales) != f32 or not same_shape(shape_of(scales), expected)):
            raise VerifyException(f"{name}_scales is {scales.type}, expected f32 of shape {shape_text(expected)}")


ROWS = [
    row("aten::mm(Tensor self, Tensor mat2) -> Tensor", "Product of two matrices.", out="mm.out", infer=_mm),
    row("aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", "Product of two matrices of 8-bit integers, in 32 bits.",
        infer=_int_mm),
    row("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        "beta * self + alpha * mat1 @ mat2.", out="addmm.out", infer=_addmm),
    row("aten::bmm(Tensor self, Tensor mat2) -> Tensor", "Products of matrices, one a batch.", out="bmm.out",
        infer=_bmm),
    row("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        "beta * self + alpha * batch1 @ batch2.", out="baddbmm.out", infer=_baddbmm),
    row("aten::matmul(Tensor self, Tensor other) -> Tensor",
        "Product of any ranks: leading dimensions broadcast, a vector is a row on the left, a column on the right.",
        out="matmul.out", infer=_matmul),
    row("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
        "input @ weight.T + bias, weight [out, in].", out="linear.out", infer=_linear),
    row("aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
        "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
        "softmax(query @ key.T * scale + mask) @ value; [..., length, features].", infer=_attention),
    row("xir::attend_prefix(Tensor query, Tensor key, Tensor value, Tensor attn_mask, Tensor? key_scales=None, "
        "Tensor? value_scales=None, *, float? scale=None) -> Tensor",
        "Attention [batch, heads, length, features] to as many keys as the mask has columns; i8 is times its scales.",
        out="xir::attend_prefix.out", infer=_prefix_attention),
]  # fmt: skip
