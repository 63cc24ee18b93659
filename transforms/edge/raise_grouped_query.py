"""`raise-grouped-query`: attention to repeated heads becomes grouped-query attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import shape_of, wrap_dim
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import erase_dead_ops
from xir.ir.walking import ops_in

HEADS = -3
"""The dimension of heads in queries, keys and values, [..., H, L, E]."""


@dataclass(frozen=True)
class RaiseGroupedQueryPass(XirPass):
    """Use grouped-query attention where a program repeats heads of keys and values for groups of query heads.

    `repeat_kv` of transformers and `repeat_interleave` copy each head for each query head of its group. Attention with
    `enable_gqa` computes the same without copies.

    Before:
    ```mlir
    %0 = edge.unsqueeze(%k) {dim = 2 : i64} : (tensor<1x2x7x4xf32>) -> tensor<1x2x1x7x4xf32>
    %1 = edge.expand(%0) {size = array<i64: 1, 2, 3, 7, 4>} : (tensor<1x2x1x7x4xf32>) -> tensor<1x2x3x7x4xf32>
    %2 = edge.view(%1) {size = array<i64: 1, 6, 7, 4>} : (tensor<1x2x3x7x4xf32>) -> tensor<1x6x7x4xf32>
    %6 = edge.scaled_dot_product_attention(%q, %2, %5, none) : (...) -> tensor<1x6x1x4xf32>
    ```
    After, with `%v` what `%5` repeats in the same way:
    ```mlir
    %6 = edge.scaled_dot_product_attention(%q, %k, %v, none) {enable_gqa = true} : (...) -> tensor<1x6x1x4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "one or two heads that two or three heads of queries share, as neighbours or in turn"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every attention whose keys and values are repeated alike."""
        for attention in list(ops_in(op, edge.ScaledDotProductAttentionOp)):
            if attention.enable_gqa:
                continue
            key, value = unrepeated(attention.key), unrepeated(attention.value)
            if key is None or value is None or shape_of(key)[HEADS] != shape_of(value)[HEADS]:
                continue
            if shape_of(attention.query)[HEADS] != shape_of(attention.key)[HEADS]:
                continue
            grouped = edge.ScaledDotProductAttentionOp(
                query=attention.query,
                key=key,
                value=value,
                attn_mask=attention.attn_mask,
                dropout_p=attention.dropout_p,
                is_causal=attention.is_causal,
                scale=attention.scale,
                enable_gqa=True,
                location=attention.location,
            )
            groups = shape_of(attention.key)[HEADS] // shape_of(key)[HEADS]
            passed(attention, "group", "keys and values are not repeated", figures={"Groups": groups})
            block = attention.parent_block()
            assert block is not None
            block.insert_op_before(grouped, attention)
            grouped.results[0].name_hint = attention.results[0].name_hint
            attention.results[0].replace_all_uses_with(grouped.results[0])
            block.erase_op(attention)
            erase_dead_ops(block, edge.EdgeOp)


def unrepeated(value: SSAValue) -> SSAValue | None:
    """The heads [..., H, L, E] that `value` has G times each, one after the other; None if it repeats none.

    Heads get a dimension of size 1 behind them, which is expanded to G and merged with theirs.
    """
    heads = shape_of(value)
    view = value.owner
    if not isinstance(view, edge.ViewOp | edge.UnsafeViewOp):
        return None
    expand = without_clones(view.self).owner
    if not isinstance(expand, edge.ExpandOp):
        return None
    unsqueeze = expand.self.owner
    if not isinstance(unsqueeze, edge.UnsqueezeOp):
        return None
    root, repeated = shape_of(unsqueeze.self), shape_of(expand.results[0])
    rank = len(root)
    if rank < 3 or len(heads) != rank or wrap_dim(unsqueeze.dim, rank + 1) != rank - 2:
        return None
    batch, (own, *matrix) = root[:-3], root[-3:]
    groups = repeated[rank - 2]
    fits = repeated == (*batch, own, groups, *matrix) and heads == (*batch, own * groups, *matrix)
    return unsqueeze.self if fits and own > 0 and groups > 1 else None


def without_clones(value: SSAValue) -> SSAValue:
    """What a value is a copy of."""
    while isinstance(value.owner, edge.CloneOp):
        value = value.owner.self
    return value
