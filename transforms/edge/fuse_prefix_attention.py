"""`fuse-prefix-attention`: attention of a few queries reads keys and values where they are, in a cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32, i1, i8
from xdsl.ir import Block, Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of, wrap_dim
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import erase_dead_ops
from xir.ir.targets import TARGETS, Target
from xir.ir.walking import ops_in

FLOATS = (f32, f16, bf16)
KEYS = 2
"""The dimension of keys and values that is sliced, [batch, heads, keys, features]."""


@dataclass(frozen=True)
class FusePrefixAttentionPass(XirPass):
    """Compute attention over the filled part of a cache without copying it, by a kernel of xir's runtime.

    XNNPACK takes contiguous operands, and packs the right operand of a product each time. For a few queries it mostly
    copies and packs the cache's filled part. The kernel `xir::attend_prefix` reads each key and value once, in place:
    floats of any type, or 8 bits with a scale for each position and head.

    Only xir's runtime has the kernel, so the pass does nothing unless the target is `xir`. With many queries XNNPACK's
    products are faster: `rows` bounds the queries for a head of keys, and an open number of queries is left alone.

    Before:
    ```mlir
    %1 = edge.slice.Tensor(%k)[%live] {dim = 2 : i64, start = 0 : i64, end} : (...) -> tensor<1x2x?x64xf32>
    %2 = edge.slice.Tensor(%v)[%live] {dim = 2 : i64, start = 0 : i64, end} : (...) -> tensor<1x2x?x64xf32>
    %3 = edge.scaled_dot_product_attention(%q, %1, %2, %mask) {enable_gqa = true}
         : (tensor<1x8x1x64xf32>, ..., tensor<1x?xi1>) -> tensor<1x8x1x64xf32>
    ```
    After:
    ```mlir
    %3 = edge.xir.attend_prefix(%q, %k, %v, %mask, none, none)
         : (tensor<1x8x1x64xf32>, tensor<1x2x4096x64xf32>, ..., tensor<1x?xi1>) -> tensor<1x8x1x64xf32>
    ```
    """

    target: Target = "executorch"
    """The runtime that the file is for."""
    rows: int = 16
    """The most rows of queries that may share a head of keys and values."""

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "caches of up to four keys of floats and of integers, one or two heads for each, at each length"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Fuse every attention to a prefix that few queries pay."""
        if not TARGETS[self.target].xir_kernels:
            return
        blocks: dict[Block, None] = {}
        for attention in list(ops_in(op, edge.ScaledDotProductAttentionOp)):
            block = attention.parent_block()
            if block is not None and (fused := self.fused(attention)) is not None:
                fused.location = attention.location
                passed(attention, "prefix-attention", "keys and values are read where they are")
                block.insert_op_before(fused, attention)
                fused.results[0].name_hint = attention.results[0].name_hint
                attention.results[0].replace_all_uses_with(fused.results[0])
                block.erase_op(attention)
                blocks[block] = None
        for block in blocks:
            erase_dead_ops(block, edge.EdgeOp)

    def fused(self, op: edge.ScaledDotProductAttentionOp) -> Operation | None:
        """Attention to what the prefixes are of; None if it is not such attention, or has too many queries."""
        key, value, mask = prefix_of(op.key), prefix_of(op.value), op.attn_mask
        if key is None or value is None or mask is None or op.is_causal or op.dropout_p:
            return None
        if key.length != value.length or element_of(key.cache) != element_of(value.cache):
            return None
        query, keys, columns = shape_of(op.query), shape_of(key.cache), shape_of(mask)
        if len(query) != 4 or len(keys) != 4 or any(size < 1 for size in (*query, *keys, *shape_of(value.cache))):
            return None
        if keys[:3] != shape_of(value.cache)[:3] or query[0] != keys[0] or query[1] % keys[1]:
            return None
        if not op.enable_gqa and query[1] != keys[1]:
            return None
        is_shared = len(columns) >= 2 and all(size == 1 for size in columns[:-2]) and columns[-2] in (1, query[2])
        if not is_shared or element_of(mask) not in (i1, f32) or element_of(op.query) not in FLOATS:
            return None
        if query[1] // keys[1] * query[2] > self.rows:
            return None
        return edge.XirAttendPrefixOp(
            query=op.query,
            key=key.cache,
            value=value.cache,
            attn_mask=mask,
            key_scales=key.scales,
            value_scales=value.scales,
            scale=op.scale,
        )


@dataclass(frozen=True)
class Prefix:
    """The first keys or values of a cache [batch, heads, window, features], as many as a run-time size says."""

    cache: SSAValue
    length: SSAValue
    scales: SSAValue | None = None
    """[batch, heads, window, 1], which keys in 8 bits are times."""


def prefix_of(value: SSAValue) -> Prefix | None:
    """What attention reads, if that is a prefix of a cache; None if it is not.

    Keys may be of another type of floats than the prefix, or be integers that are multiplied by scales: the kernel does
    either by itself.
    """
    op = value.owner
    if isinstance(op, edge.MulTensorOp):
        return scaled_prefix(op)
    if isinstance(op, edge.ToCopyOp) and element_of(value) == f32:
        value = op.self
    found = sliced(value)
    return found if found is not None and element_of(found.cache) in FLOATS else None


def scaled_prefix(op: edge.MulTensorOp) -> Prefix | None:
    """Integers of 8 bits, converted to f32, times a scale for each position and head."""
    integers, scales = op.self.owner, sliced(op.other)
    if not isinstance(integers, edge.ToCopyOp) or scales is None or element_of(op.results[0]) != f32:
        return None
    found = sliced(integers.self)
    if found is None or found.length != scales.length or element_of(found.cache) != i8:
        return None
    if element_of(scales.cache) != f32 or shape_of(scales.cache) != (*shape_of(found.cache)[:3], 1):
        return None
    return Prefix(found.cache, found.length, scales.cache)


def sliced(value: SSAValue) -> Prefix | None:
    """The op that takes the first keys of a cache, or their scales, as the whole cache and their number."""
    op = value.owner
    if not isinstance(op, edge.SliceTensorOp):
        return None
    is_prefix = len(shape_of(op.self)) == 4 and wrap_dim(op.dim, 4) == KEYS and op.step == 1 and op.start == 0
    return Prefix(op.self, op.end) if is_prefix and isinstance(op.end, SSAValue) else None
