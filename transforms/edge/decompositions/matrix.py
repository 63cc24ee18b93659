"""Matrix products and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import Shape, element_of, shape_of
from xir.transforms.analysis.absent_arguments import attention_scale
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, in_opmath


@decomposition
def linear(op: edge.LinearOp, b: EdgeBuilder) -> SSAValue | None:
    """`linear` of a vector or to one: `matmul(input, t(weight)) + bias`"""
    value, weight, bias = op.input, op.weight, op.bias
    if len(shape_of(value)) > 1 and len(shape_of(weight)) == 2 and (bias is None or len(shape_of(bias)) == 1):
        return None
    product = b.call(edge.MatmulOp, self=value, other=b.call(edge.TOp, self=weight))
    return product if bias is None else b.call(edge.AddTensorOp, self=product, other=bias)


@decomposition
def int_mm(op: edge.IntMmOp, b: EdgeBuilder) -> SSAValue:
    """`mm` of 32-bit integers"""
    operands = [b.convert(value, like=op.results[0]) for value in (op.self, op.mat2)]
    return b.call(edge.MmOp, self=operands[0], mat2=operands[1])


@decomposition
@in_opmath
def baddbmm(op: edge.BaddbmmOp, b: EdgeBuilder) -> SSAValue:
    """`self * beta + bmm(batch1, batch2) * alpha`"""
    alpha, beta = op.alpha, op.beta
    product = b.call(edge.BmmOp, self=op.batch1, mat2=op.batch2)
    if alpha != 1:
        product = b.call(edge.MulScalarOp, self=product, other=alpha)
    return product if beta == 0 else b.call(edge.AddTensorOp, self=product, other=op.self, alpha=beta)


@decomposition
def matmul(op: edge.MatmulOp, b: EdgeBuilder) -> SSAValue:
    """`mm` or `bmm`, with vectors as matrices, and leading dimensions expanded and viewed as one"""
    lhs, rhs = op.self, op.other
    is_row, is_column = len(shape_of(lhs)) == 1, len(shape_of(rhs)) == 1
    if is_row:
        lhs = b.call(edge.UnsqueezeOp, self=lhs, dim=0)
    if is_column:
        rhs = b.call(edge.UnsqueezeOp, self=rhs, dim=1)
    result = _product(b, lhs, rhs)
    dropped = [*[-2] * is_row, *[-1] * is_column]
    return b.call(edge.SqueezeDimsOp, self=result, dim=dropped) if dropped else result


def _product(b: EdgeBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The product of matrices, in batches of any rank."""
    if len(shape_of(rhs)) == 2:
        if len(shape_of(lhs)) == 2:
            return b.call(edge.MmOp, self=lhs, mat2=rhs)
        # One matrix for all batches: their rows are those of one matrix.
        *outer, inner = b.sizes(lhs)
        rows = b.view(lhs, (b.product(outer) if inner == 0 else -1, inner))
        return b.view(b.call(edge.MmOp, self=rows, mat2=rhs), (*outer, b.size(rhs, -1)))
    batch = _broadcast(b, lhs, rhs)
    count = b.product(batch)
    matrices = [_batched(b, value, batch, count) for value in (lhs, rhs)]
    product = b.call(edge.BmmOp, self=matrices[0], mat2=matrices[1])
    if len(batch) == 1:
        return product
    return b.view(product, (*batch, b.size(lhs, -2), b.size(rhs, -1)))


def _broadcast(b: EdgeBuilder, lhs: SSAValue, rhs: SSAValue) -> list[edge.Size]:
    """The common batch of two operands. An open dimension meets 1 or its equal."""
    sides = [(value, shape_of(value)[:-2]) for value in (lhs, rhs)]
    batch: list[edge.Size] = []
    for position in range(-max(len(shape) for _, shape in sides), 0):
        there = [(value, shape) for value, shape in sides if len(shape) >= -position]
        value, _ = next((each for each in there if each[1][position] > 1), None) or next(
            (each for each in there if each[1][position] != 1), there[0]
        )
        batch.append(b.size(value, position - 2))
    return batch


def _batched(b: EdgeBuilder, value: SSAValue, batch: Sequence[edge.Size], count: edge.Size) -> SSAValue:
    """A batch of matrices as [count, rows, columns]."""
    matrix = (b.size(value, -2), b.size(value, -1))
    shape: Shape = shape_of(value)[:-2]
    if len(shape) != len(batch) or any(size == 1 and wanted != 1 for size, wanted in zip(shape, batch, strict=True)):
        value = b.call(edge.ExpandOp, self=value, size=[*batch, *matrix])
    return value if len(batch) == 1 else b.view(value, (count, *matrix))


@decomposition
@in_opmath
def attention(op: edge.ScaledDotProductAttentionOp, b: EdgeBuilder) -> SSAValue | None:
    """`matmul(softmax(matmul(query * scale, keyᵀ) + mask), value)`, and 0 for a query that may look at no key"""
    if op.dropout_p:
        return None
    query, key, value = op.query, op.key, op.value
    if op.enable_gqa:
        heads = b.size(query, -3)
        if any(0 in shape_of(each) for each in (key, value)):
            return None
        key, value = (_shared_heads(b, each, heads) for each in (key, value))
    scale = op.scale
    if scale is None:
        features = shape_of(query)[-1]
        if features < 0:
            return None
        scale = attention_scale(features)
    # Scaling the query costs less than scaling the scores.
    scaled = b.call(edge.MulScalarOp, self=query, other=scale)
    scores = b.call(edge.MatmulOp, self=scaled, other=b.call(edge.TransposeIntOp, self=key, dim0=-2, dim1=-1))
    mask, may_be_alone = op.attn_mask, True
    if op.is_causal:
        ones = b.call(edge.FullOp, size=[b.size(query, -2), b.size(key, -2)], fill_value=True)
        mask, may_be_alone = b.call(edge.TrilOp, self=ones), False
    if mask is None:
        return b.call(edge.MatmulOp, self=b.call(edge.SoftmaxOp, self=scores, dim=-1, half_to_float=False), other=value)
    if element_of(mask) == i1:
        allowed = mask
        hidden = b.call(edge.LogicalNotOp, self=mask)
        scores = b.call(edge.MaskedFillScalarOp, self=scores, mask=hidden, value=-math.inf)
    else:
        allowed = b.call(edge.NeScalarOp, self=mask, other=-math.inf)
        scores = b.call(edge.AddTensorOp, self=scores, other=mask)
    weights = b.call(edge.SoftmaxOp, self=scores, dim=-1, half_to_float=False)
    if may_be_alone:
        sees = b.call(edge.AnyDimOp, self=allowed, dim=-1, keepdim=True)
        blind = b.call(edge.LogicalNotOp, self=sees)
        weights = b.call(edge.MaskedFillScalarOp, self=weights, mask=blind, value=0)
    return b.call(edge.MatmulOp, self=weights, other=value)


def _shared_heads(b: EdgeBuilder, value: SSAValue, heads: edge.Size) -> SSAValue:
    """Key or value heads, [..., H, L, E], each repeated for its group of query heads."""
    *batch, own, length, features = b.sizes(value)
    if not isinstance(own, int) or not isinstance(heads, int) or own == heads:
        return value
    apart = b.call(edge.UnsqueezeOp, self=value, dim=-3)
    repeated = b.call(edge.ExpandOp, self=apart, size=[*batch, own, heads // own, length, features])
    return b.view(repeated, (*batch, heads, length, features))
