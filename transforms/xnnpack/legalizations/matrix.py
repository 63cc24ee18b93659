"""Matrix products and softmax."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import UnitAttr, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.edge.families import Dequantize
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, rank_of
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.absent_arguments import attention_scale
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import StaticTensor, i4, is_static
from xir.transforms.xnnpack.legalizations.dynamic_sizes import NO_DONOR, UNBOUNDED, minus_infinity
from xir.transforms.xnnpack.legalizations.masking import COMPUTED_MASK, static_mask
from xir.transforms.xnnpack.legalizations.quantization import quantized_at_run_time, rounded_at_run_time
from xir.transforms.xnnpack.legalizations.reduction import sum_over
from xir.transforms.xnnpack.legalizations.rule import (
    DYNAMIC_PART,
    NodeBuilder,
    Quantized,
    fixed,
    rule,
    static_name,
)
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END, pad_with
from xir.transforms.xnnpack.legalizations.special_functions import returned, scaled, widened

RANDOM = Refusal(
    "it drops elements at random",
    "export the module in eval() mode",
    example=call(
        "edge.scaled_dot_product_attention",
        query=tensor(1, 2, 5, 8),
        key=tensor(1, 2, 7, 8),
        value=tensor(1, 2, 7, 8),
        dropout_p=0.5,
    ),
)


@rule(quantized=Quantized.WEIGHTED)
def linear(op: edge.LinearOp, b: NodeBuilder) -> SSAValue:
    """input [..., I] times weight [O, I] transposed, plus bias [O]; a weight [I] is one row, which leaves no O."""
    value, weight, bias = op.input, op.weight, op.bias
    if bias is not None and not is_static(bias):
        value, weight, bias = summands(b, value, weight, bias)
    if rank_of(weight) == 1:
        row = b.reshape(weight, (1, *b.shape(weight)))
        product = b.node(xnnpack.FullyConnectedOp, [value, row])
        product = b.reshape(product, b.shape(op.results[0]))
    elif bias is not None and is_static(bias):
        return fully_connected(op, b, value, weight, bias, transpose=False)
    else:
        product = fully_connected(op, b, value, weight, None, transpose=False)
    return product if bias is None else returned(op, b, b.binary("add", product, bias))


@rule(quantized=Quantized.WEIGHTED)
def addmm(op: edge.AddmmOp, b: NodeBuilder) -> SSAValue:
    """beta·self + alpha·(mat1 × mat2): one node when `self` is a static bias by column."""
    value, weight, bias = op.mat1, op.mat2, op.self
    if is_static(weight) and op.beta == op.alpha == 1:
        by_column = column_bias(b, bias, b.shape(op.results[0])[-1])
        if by_column is not None:
            return fully_connected(op, b, value, weight, by_column, transpose=True)
    if op.alpha != 1 or op.beta != 0:
        value, weight, bias = summands(b, value, weight, bias)
    product = scaled(b, matrix_product(op, b, value, weight), op.alpha)
    # ATen does not look at the addend where beta is 0.
    return returned(op, b, b.binary("add", product, scaled(b, bias, op.beta)) if op.beta != 0 else product)


def summands(b: NodeBuilder, value: SSAValue, weight: SSAValue, bias: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """What a sum of a product and something else is computed of: fp16 in fp32, as in ATen, since a product may overflow
    where the sum does not. Products with integers are computed in fp32 by themselves, and stay."""
    if element_type(value) != f16 or isinstance(weight.owner, Dequantize):
        return value, weight, bias
    return widened(b, value), widened(b, weight), widened(b, bias)


def column_bias(b: NodeBuilder, bias: SSAValue, columns: int) -> SSAValue | None:
    """A static bias that is the same for all rows, as [columns]; None for any other."""
    if not isinstance(bias.owner, edge.ConstantOp) or any(size != 1 for size in b.shape(bias)[:-1]):
        return None
    if b.shape(bias) == (columns,):
        return bias
    return b.constant(np.broadcast_to(b.numbers(bias, "bias").reshape(-1), columns), bias, static_name(bias))


@rule()
def mm(op: edge.MmOp, b: NodeBuilder) -> SSAValue:
    """self × mat2: a fully connected node when `mat2` is static."""
    return matrix_product(op, b, op.self, op.mat2)


def matrix_product(op: edge.EdgeOp, b: NodeBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """lhs [..., K] × rhs [K, N]: a fully connected node when `rhs` is static."""
    if is_static(rhs):
        return fully_connected(op, b, lhs, rhs, None, transpose=True)
    return b.node(xnnpack.BatchMatrixMultiplyOp, [lhs, rhs])


@rule(quantized=Quantized.MATRICES)
def bmm(op: edge.BmmOp, b: NodeBuilder) -> SSAValue:
    """self × mat2, a batch of matrices each."""
    return b.node(xnnpack.BatchMatrixMultiplyOp, [op.self, op.mat2])


@rule(overrides="a node multiplies batches of any rank as they are")
def matmul(op: edge.MatmulOp, b: NodeBuilder) -> SSAValue:
    """The product of matrices or vectors of any ranks, batches broadcast."""
    lhs, rhs = op.self, op.other
    if rank_of(rhs) == 2 and is_static(rhs) and rank_of(lhs) > 0:
        return fully_connected(op, b, lhs, rhs, None, transpose=True)
    if rank_of(lhs) == 1:
        lhs = b.reshape(lhs, (1, *b.shape(lhs)))
    if rank_of(rhs) == 1:
        rhs = b.reshape(rhs, (*b.shape(rhs), 1))
    product = b.node(xnnpack.BatchMatrixMultiplyOp, [lhs, rhs])
    result = b.shape(op.results[0])
    return product if b.shape(product) == result else b.reshape(product, b.shape(op.results[0]))


def fully_connected(
    op: edge.EdgeOp, b: NodeBuilder, value: SSAValue, weight: SSAValue, bias: SSAValue | None, *, transpose: bool
) -> SSAValue:
    """A fully connected node; `transpose` says that `weight` is [I, O]. XNNPACK packs a computed weight at each run.

    Of bf16 operands XNNPACK makes an fp32 result, to which it adds an fp32 bias; so the weights of a file stay short.
    With quantised weights, products of fp16 and bf16 are computed between conversions: XNNPACK has kernels of fp16 for
    these on few processors, and none of bf16.
    """
    element, computed = element_type(value), f32 if element_type(value) == bf16 else element_type(value)
    if element in (f16, bf16) and isinstance(weight.owner, Dequantize) and is_static(weight):
        value, computed = in_f32(value, b), f32
    if element == bf16 and not is_static(weight):
        # Which XNNPACK packs in fp32 only.
        value, weight = b.convert(value, f32), b.convert(weight, f32)
    if is_static(weight):
        stored = b.weight(weight, "weight", to_short=True).narrowed()
        if transpose and isinstance(stored.element, UniformType):
            # XNNPACK transposes floating-point filters only.
            stored, transpose = stored.transpose(1, 0), False
        if has_half_byte(stored):
            # XNNPACK divides by the even number of channels to count rows: of 9 rows of 61 numbers it computes 8.
            stored = replace(stored, array=np.pad(stored.array, ((0, 0), (0, 1))))
            value = pad_with(b, value, [0] * rank_of(value), [*[0] * (rank_of(value) - 1), 1], 0.0)
        weight = b.static(stored)
    operands = [value, weight]
    if bias is not None:
        is_wider = computed != element
        operands.append(b.convert(bias, f32) if is_wider else b.bias(bias) if is_static(bias) else bias)
    properties: dict[str, Attribute] = {"transpose_weights": UnitAttr()} if transpose else {}
    product = b.node(xnnpack.FullyConnectedOp, operands, properties, element=computed)
    return b.convert(product, element)


def in_f32(value: SSAValue, b: NodeBuilder) -> SSAValue:
    """Numbers of fp16 or bf16; those that are quantised at run time are so from fp32 on, and not rounded in between."""
    writer = value.owner
    source = quantized_at_run_time(writer) if isinstance(writer, Dequantize) else None
    return b.convert(value, f32) if source is None else rounded_at_run_time(source, b)


def has_half_byte(weight: StaticTensor) -> bool:
    """Whether rows of a filter in 4 bits, without blocks, end in the middle of a byte."""
    element = weight.element
    if not isinstance(element, UniformType) or element.storage != i4 or element.is_blockwise:
        return False
    return weight.shape[1] % 2 == 1


@rule(
    refuses=(RANDOM, DYNAMIC_PART, UNBOUNDED, NO_DONOR, COMPUTED_MASK, FROM_DYNAMIC_END),
    overrides="XNNPACK has no booleans: masks are added, and heads that share keys are one long head",
)
def scaled_dot_product_attention(op: edge.ScaledDotProductAttentionOp, b: NodeBuilder) -> SSAValue:
    """softmax(scale·query × keyᵀ + mask) × value, over [..., L, E].

    Where groups of G query heads share a head of keys and values, a group is one long head: [..., G·H, L, E] has the
    order of [..., H, G·L, E]. An open length does not go into a product; a group is a dimension there, as in
    [..., H, G, L, E], and products broadcast keys and values.

    Scores and weights of fp16 and bf16 are computed in fp32, as in ATen: those beyond 2048 have no fractions in fp16.
    """
    if op.dropout_p:
        raise RANDOM()
    query, key, value = widened(b, op.query), widened(b, op.key), op.value
    *batch, length, features = b.shape(query)
    keys, scale, result_shape = b.shape(key)[-2], op.scale, b.shape(op.results[0])
    query = scaled(b, query, attention_scale(fixed(features, "scale")) if scale is None else scale)
    is_grouped = op.enable_gqa and not isinstance(length, SymbolicSize)
    if is_grouped:
        heads = fixed(b.shape(key)[-3], "groups")
        query = b.reshape(query, (*batch[:-1], heads, fixed(batch[-1], "groups") // heads * length, features))
    elif op.enable_gqa and (op.attn_mask is None or all(size == 1 for size in b.shape(op.attn_mask)[:-2])):
        heads = fixed(b.shape(key)[-3], "groups")
        query = b.reshape(query, (*batch[:-1], heads, fixed(batch[-1], "groups") // heads, length, features))
        key, value = (b.reshape(each, (*b.shape(each)[:-2], 1, *b.shape(each)[-2:])) for each in (key, value))
    elif op.enable_gqa:
        key, value = (repeated_heads(b, each, fixed(batch[-1], "groups")) for each in (key, value))
    scores = b.node(xnnpack.BatchMatrixMultiplyOp, [query, key], {"transpose_b": UnitAttr()})
    mask, rows = attention_mask(op, b, query)
    if mask is not None and is_grouped:
        grouped = b.shape(scores)
        scores = b.reshape(b.binary("add", b.reshape(scores, (*batch, length, keys)), mask), grouped)
    elif mask is not None:
        scores = b.binary("add", scores, mask)
    weights = b.convert(b.node(xnnpack.SoftmaxOp, [scores]), element_type(value))
    result = b.reshape(b.node(xnnpack.BatchMatrixMultiplyOp, [weights, value]), result_shape)
    return result if rows is None else b.binary("multiply", result, b.convert(rows, element_type(result)))


def repeated_heads(b: NodeBuilder, value: SSAValue, heads: int) -> SSAValue:
    """[..., H, L, E] with each head repeated, as often as it takes for so many heads; a product with ones repeats."""
    *batch, old, length, features = b.shape(value)
    groups = heads // fixed(old, "groups")
    if groups == 1:
        return value
    apart = b.reshape(value, (*batch, old, 1, length, features))
    repeated = b.binary("multiply", apart, b.constant(np.ones((groups, 1, 1), np.float32), value, "ones"))
    return b.reshape(repeated, (*batch, heads, length, features))


def attention_mask(
    op: edge.ScaledDotProductAttentionOp, b: NodeBuilder, query: SSAValue
) -> tuple[SSAValue | None, SSAValue | None]:
    """What to add to the scores, and a factor for the rows of the result, which a static mask may leave nothing to see.

    Booleans become 0 where True and −∞ elsewhere. ATen gives zeros for a row of −∞, whose softmax is NaN: such a row
    is not masked, and its result is multiplied by 0. A mask that is computed at run time may have such rows.
    """
    mask = op.attn_mask
    if op.is_causal:
        length, keys = (b.shape(value)[-2] for value in (op.query, op.key))
        if isinstance(length, SymbolicSize) or isinstance(keys, SymbolicSize):
            return minus_infinity(b, (length, keys), 0, element_type(query)), None
        above = np.triu(np.full((length, keys), -np.inf, dtype=np.float32), 1)
        return b.constant(above, query, "causal_mask"), None
    if mask is None:
        return None, None
    if element_type(mask) == element_type(op.query) and not is_static(mask):
        return shown_mask(b, widened(b, mask))
    numbers = static_mask(b, mask, "mask")
    added = np.where(numbers, 0.0, -np.inf) if numbers.dtype == np.bool_ else numbers
    hidden = np.isneginf(added).all(axis=-1, keepdims=True)
    rows = b.constant(np.where(hidden, 0.0, 1.0), query, "rows") if hidden.any() else None
    return b.constant(np.where(hidden, 0.0, added), query, "mask"), rows


def shown_mask(b: NodeBuilder, mask: SSAValue) -> tuple[SSAValue, SSAValue]:
    """A mask in fp32 with a large number for −∞, and 0 for its rows of −∞ alone, 1 for others.

    Half of any number that is not −∞ is above −2^127.
    """
    largest = 2.0**127
    halves = b.binary("multiply", mask, b.scalar(0.5, mask), -largest, 0.0)
    seen = b.binary("add", halves, b.scalar(largest, halves), 0.0, 1.0)
    rows = b.clamp(sum_over(b, seen, [rank_of(mask) - 1], keepdim=True), 0.0, 1.0)
    return b.binary("maximum", mask, b.scalar(-largest / 2, mask)), rows


@rule()
def softmax(op: edge.SoftmaxOp, b: NodeBuilder) -> SSAValue:
    """Softmax over `dim`, which is moved to the end where it is not."""
    value = op.self
    rank, dim = rank_of(value), op.dim % max(rank_of(value), 1)
    perm = (*(d for d in range(rank) if d != dim), dim)
    moved = b.transpose(value, perm)
    result = b.node(xnnpack.SoftmaxOp, [moved])
    return b.transpose(result, [perm.index(d) for d in range(rank)])
