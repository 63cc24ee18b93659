"""Matrix products and softmax."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import UnitAttr, bf16, f32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type, rank_of
from xir.transforms.legalizations.elementwise import scaled
from xir.transforms.legalizations.rule import (
    NodeBuilder,
    Quantized,
    RefusalError,
    broadcast,
    fixed,
    operand,
    rule,
    static_name,
)


@rule("edge.linear", quantized=Quantized.WEIGHTED)
def linear(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """input [..., I] times weight [O, I] transposed, plus bias [O]."""
    weight = operand(op, "weight")
    return fully_connected(op, b, operand(op, "input"), weight, op.tensor("bias"), transpose=False)


@rule("edge.addmm", quantized=Quantized.WEIGHTED)
def addmm(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """beta·self + alpha·(mat1 × mat2): one node when `self` is a static bias by column."""
    if op.value("beta") != 1 or op.value("alpha") != 1:
        product = b.node(
            xnnpack.BatchMatrixMultiplyOp, [operand(op, "mat1"), operand(op, "mat2")], b.shape(op.results[0])
        )
        return b.binary("add", scaled(b, product, op.value("alpha")), scaled(b, operand(op, "self"), op.value("beta")))
    return fully_connected(op, b, operand(op, "mat1"), operand(op, "mat2"), operand(op, "self"), transpose=True)


@rule("edge.mm")
def mm(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self × mat2: a fully connected node when `mat2` is static."""
    lhs, rhs = operand(op, "self"), operand(op, "mat2")
    if isinstance(rhs.owner, edge.ConstantOp):
        return fully_connected(op, b, lhs, rhs, None, transpose=True)
    return b.node(xnnpack.BatchMatrixMultiplyOp, [lhs, rhs], b.shape(op.results[0]))


@rule("edge.bmm", quantized=Quantized.MATRICES)
def bmm(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self × mat2, a batch of matrices each."""
    return b.node(xnnpack.BatchMatrixMultiplyOp, [operand(op, "self"), operand(op, "mat2")], b.shape(op.results[0]))


@rule("edge.baddbmm")
def baddbmm(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """beta·self + alpha·(batch1 × batch2)."""
    batches = [operand(op, "batch1"), operand(op, "batch2")]
    product = scaled(b, b.node(xnnpack.BatchMatrixMultiplyOp, batches, b.shape(op.results[0])), op.value("alpha"))
    return b.binary("add", product, scaled(b, operand(op, "self"), op.value("beta")))


@rule("edge.matmul")
def matmul(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """The product of matrices or vectors of any ranks, batches broadcast."""
    lhs, rhs = operand(op, "self"), operand(op, "other")
    if rank_of(rhs) == 2 and isinstance(rhs.owner, edge.ConstantOp) and rank_of(lhs) > 0:
        return fully_connected(op, b, lhs, rhs, None, transpose=True)
    if rank_of(lhs) == 1:
        lhs = b.reshape(lhs, (1, *b.shape(lhs)))
    if rank_of(rhs) == 1:
        rhs = b.reshape(rhs, (*b.shape(rhs), 1))
    batch = broadcast(b.shape(lhs)[:-2], b.shape(rhs)[:-2])
    product = b.node(xnnpack.BatchMatrixMultiplyOp, [lhs, rhs], (*batch, b.shape(lhs)[-2], b.shape(rhs)[-1]))
    result = b.shape(op.results[0])
    return product if b.shape(product) == result else b.reshape(product, b.shape(op.results[0]))


def fully_connected(
    op: edge.EdgeOp, b: NodeBuilder, value: SSAValue, weight: SSAValue, bias: SSAValue | None, *, transpose: bool
) -> SSAValue:
    """A fully connected node; `transpose` says that `weight` is [I, O].

    Of bf16 operands XNNPACK makes an fp32 result, to which it adds an fp32 bias; so the weights of a file stay short.
    """
    element = element_type(value)
    operands = [value, b.constant(b.weight(weight, "weight"), weight, static_name(weight))]
    if bias is not None:
        if rank_of(bias) != 1:
            raise RefusalError(f"its bias has rank {rank_of(bias)}; XNNPACK adds one number to each column")
        numbers = b.weight(bias, "bias")
        operands.append(b.convert(bias, f32) if element == bf16 else b.constant(numbers, bias, static_name(bias)))
    properties: dict[str, Attribute] = {"transpose_weights": UnitAttr()} if transpose else {}
    computed = f32 if element == bf16 else element
    product = b.node(xnnpack.FullyConnectedOp, operands, b.shape(op.results[0]), properties, computed)
    return b.convert(product, element)


@rule("edge.scaled_dot_product_attention")
def scaled_dot_product_attention(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """softmax(scale·query × keyᵀ + mask) × value, over [..., L, E]; the mask is added, boolean ones are folded."""
    if op.value("dropout_p"):
        raise RefusalError("it drops elements at random", "export the module in eval() mode")
    if op.value("enable_gqa"):
        raise RefusalError("its key and value heads are shared by groups of query heads")
    query, key, value = operand(op, "query"), operand(op, "key"), operand(op, "value")
    length, features = b.shape(query)[-2:]
    keys = b.shape(key)[-2]
    scale = op.value("scale")
    scaled_query = scaled(b, query, 1 / math.sqrt(features) if scale is None else scale)
    shape = (*broadcast(b.shape(query)[:-2], b.shape(key)[:-2]), length, keys)
    scores = b.node(xnnpack.BatchMatrixMultiplyOp, [scaled_query, key], shape, {"transpose_b": UnitAttr()})
    mask = op.tensor("attn_mask")
    if op.value("is_causal"):
        length, keys = fixed(length, "causal mask"), fixed(keys, "causal mask")
        above = np.triu(np.full((length, keys), -np.inf, dtype=np.float32), 1)
        scores = b.binary("add", scores, b.constant(above, query, "causal_mask"))
    elif mask is not None:
        scores = b.binary("add", scores, additive_mask(b, mask, query))
    weights = b.node(xnnpack.SoftmaxOp, [scores], shape)
    return b.node(xnnpack.BatchMatrixMultiplyOp, [weights, value], b.shape(op.results[0]))


def additive_mask(b: NodeBuilder, mask: SSAValue, query: SSAValue) -> SSAValue:
    """A mask to add: a float one as it is, a static boolean one as 0 where True and −∞ elsewhere."""
    if element_type(mask) == element_type(query):
        return mask
    allowed = b.weight(mask, "boolean mask")
    return b.constant(np.where(allowed, 0.0, -np.inf), query, "mask")


@rule("edge._softmax")
def softmax(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Softmax over `dim`, which is moved to the end where it is not."""
    value = operand(op, "self")
    rank, dim = rank_of(value), op.value("dim") % max(rank_of(value), 1)
    perm = (*(d for d in range(rank) if d != dim), dim)
    moved = b.transpose(value, perm)
    result = b.node(xnnpack.SoftmaxOp, [moved], b.shape(moved))
    return b.transpose(result, [perm.index(d) for d in range(rank)])
