"""Give each chain of functions of 8-bit numbers a dequantisation of its own, and cut those that are too long.

XNNPACK makes a look-up of a chain only where each value in it has one reader; a value that several chains dequantise
would leave all of them in floating point. The conversion itself costs nothing: it becomes part of the look-up.

A chain of ten nodes breaks XNNPACK, here and in stock ExecuTorch (`analysis/tables.py`). A transpose that moves nothing
ends a chain: XNNPACK joins a plain copy with the node before it, but not a transpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import u32s
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import may_rewrite
from xir.ir.tensor_types import rank_of
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis.tables import (
    has_8_bit,
    is_dequantize,
    is_start,
    overlong_part,
    readers_of,
    table_through,
)


@dataclass(frozen=True)
class IsolateTablesPass(XirPass):
    """Give each chain of elementwise nodes between 8-bit numbers its own dequantisation, so XNNPACK makes it a table.

    A chain of more than nine nodes is split by a transpose that moves nothing.

    Before:
    ```mlir
    %1 = xnnpack.convert %0 : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %2 = xnnpack.leaky_relu %1 {negative_slope = 0.1 : f32} : tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %4 = xnnpack.softmax %1 : tensor<4xf32> -> tensor<4xf32>
    ```
    After:
    ```mlir
    %1 = xnnpack.convert %0 : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %5 = xnnpack.convert %0 : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %2 = xnnpack.leaky_relu %5 {negative_slope = 0.1 : f32} : tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %4 = xnnpack.softmax %1 : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "up to three functions of one conversion, and chains of up to twelve nodes"

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Isolate the chains of every subgraph."""
        for subgraph in ops_in(op, xnnpack.SubgraphOp, graphs=False):
            if has_8_bit(subgraph):
                isolate(subgraph.body.block)
                cut(subgraph.body.block)


def isolate(block: Block) -> None:
    """Isolate the chains of one subgraph."""
    for op in list(block.ops):
        if not isinstance(op, xnnpack.ConvertOp) or not is_dequantize(op):
            continue
        for reader in readers_of(op):
            if len(readers_of(op)) > 1 and table_through(op, reader) and may_rewrite(reader, "copy"):
                block.insert_op_before(copy := op.clone(), reader)
                inherit(copy, op)
                op.output.replace_uses_with_if(copy.output, lambda use, reader=reader: use.operation is reader)


def cut(block: Block) -> None:
    """Cut the chains of one subgraph that have too many nodes."""
    seen: set[Operation] = set()
    for op in list(block.ops):
        if op in seen or not is_start(op) or len(readers := readers_of(op)) != 1:
            continue
        (reader,) = readers
        if (part := overlong_part(op, reader)) and may_rewrite(part[-1], "cut"):
            copy_behind(part[-1])
        seen.update(table_through(op, reader))


def copy_behind(op: Operation) -> None:
    """Have the reader of a node read a copy of its result."""
    value = op.results[0]
    perm = u32s(range(rank_of(value)))
    copy = (
        xnnpack.StaticTransposeOp.create(operands=[value], properties={"perm": perm}, result_types=[value.type])
        if rank_of(value)
        else xnnpack.StaticReshapeOp.create(operands=[value], properties={"new_shape": perm}, result_types=[value.type])
    )
    Rewriter.insert_op(copy, InsertPoint.after(op))
    inherit(copy, op)
    value.replace_uses_with_if(copy.results[0], lambda use: use.operation is not copy)
