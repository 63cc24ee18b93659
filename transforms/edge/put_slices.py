"""`put-slices`: what updates mutable buffers writes whole slices at positions, which can be done in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation

from xir.dialects import edge
from xir.dialects.edge.types import element_of, replaced, shape_of, wrap_dim
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.walking import ops_in

Writing = edge.IndexPutOp | edge.SliceScatterOp | edge.SelectScatterOp
"""Ops that replace some of what `self` holds."""


@dataclass(frozen=True)
class PutSlicesPass(XirPass):
    """Write to mutable buffers by `index_put` of whole slices at a vector of positions, which can be done in place.

    torch removes leading dimensions of 1 from the values that `cache[:, :, at] = x` writes, and turns writes to views
    into `slice_scatter`. Both become an op that `lower-to-pte` can run in the buffer's memory. Only ops between a
    buffer and its update are considered.

    Before:
    ```mlir
    %k = edge.mutable_buffer "k" dense<0.0> : tensor<1x8xf32>
    %0 = edge.view(%x) {size = array<i64: 1>} : (tensor<1x1xf32>) -> tensor<1xf32>
    %1 = edge.index_put(%k, [none, %at], %0) : (tensor<1x8xf32>, tensor<1xi64>, tensor<1xf32>) -> tensor<1x8xf32>
    %2 = edge.slice_scatter(%1, %y) {dim = 1 : i64, start = 6 : i64}
         : (tensor<1x8xf32>, tensor<1x2xf32>) -> tensor<1x8xf32>
    edge.update_buffer %k, %2 : tensor<1x8xf32>
    ```
    After:
    ```mlir
    %1 = edge.index_put(%k, [none, %at], %x) : (tensor<1x8xf32>, tensor<1xi64>, tensor<1x1xf32>) -> tensor<1x8xf32>
    %positions = edge.constant dense<[6, 7]> : tensor<2xi64>
    %2 = edge.index_put(%1, [none, %positions], %y)
         : (tensor<1x8xf32>, tensor<2xi64>, tensor<1x2xf32>) -> tensor<1x8xf32>
    edge.update_buffer %k, %2 : tensor<1x8xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "every slice and row of a buffer of three by two, and all positions that are given at run time"
    )

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite what is between each buffer and its update."""
        for update in list(ops_in(op, edge.UpdateBufferOp, graphs=False)):
            for writing in chain_of(update):
                put = slices_put(writing, ctx)
                if put is None or not may_try(writing, "put slices"):
                    continue
                passed(writing, "put", f"writes {writing.operator_name} by index_put of whole slices")
                block = writing.parent_block()
                assert block is not None
                for new in put:
                    new.location = writing.location
                block.insert_ops_before(put, writing)
                writing.results[0].replace_all_uses_with(put[-1].results[0])
                block.erase_op(writing)
            block = update.parent_block()
            assert block is not None
            erase_dead_ops(block)


def chain_of(update: edge.UpdateBufferOp) -> list[Writing]:
    """The ops that write to a buffer one after the other, the last first; none if the new value is none of theirs."""
    chain: list[Writing] = []
    value = update.value
    while isinstance(value.owner, Writing):
        chain.append(value.owner)
        value = value.owner.self
    return chain if value is update.buffer else []


def slices_put(op: Writing, ctx: XirContext) -> list[Operation] | None:
    """The ops that write the same by slices, the writing one last; None where `op` is such, or has no such form."""
    shape = shape_of(op.self)
    match op:
        case edge.IndexPutOp():
            return values_in_full(op, shape)
        case edge.SliceScatterOp():
            dim = wrap_dim(op.dim, len(shape))
            bounds = [bound for bound in (op.start, op.end, op.step) if bound is None or isinstance(bound, int)]
            if len(bounds) < 3:
                return None
            start, end, step = bounds
            positions = range(shape[dim])[start:end:step]
            source = op.src
            before: list[Operation] = []
        case edge.SelectScatterOp():
            dim = wrap_dim(op.dim, len(shape))
            if not isinstance(op.index, int):
                return None
            positions = [op.index % shape[dim]]
            before = [edge.UnsqueezeOp(self=op.src, dim=dim)]
            source = before[0].results[0]
    if shape_of(source) != replaced(shape, dim, len(positions)):
        return None
    at = edge.ConstantOp(make_dense(np.array(positions, np.int64), ctx, "positions"))
    put = edge.IndexPutOp(self=op.self, indices=[*[None] * dim, at.result], values=source)
    return [*before, at, put]


def values_in_full(op: edge.IndexPutOp, shape: tuple[int, ...]) -> list[Operation] | None:
    """The op on values that have all dimensions of what they replace."""
    given = [(dim, index) for dim, index in enumerate(op.indices) if index is not None]
    if op.in_place_kernel is not None or op.accumulate or len(given) != 1:
        return None
    dim, index = given[0]
    if element_of(index) not in (i32, i64) or len(shape_of(index)) != 1:
        return None
    full = replaced(shape, dim, shape_of(index)[0])
    values, before = op.values, list[Operation]()
    if any(size < 0 for size in full):
        return None
    if isinstance(values.owner, edge.ViewOp) and shape_of(values.owner.self) == full:
        values = values.owner.self
    else:
        before.append(edge.ExpandOp(self=values, size=list(full)))
        values = before[0].results[0]
    return [*before, edge.IndexPutOp(self=op.self, indices=op.indices, values=values)]
