"""Give each chain of functions of 8-bit numbers a dequantisation of its own.

XNNPACK makes a look-up of a chain only where each value in it has one reader; a value that several chains dequantise
would leave all of them in floating point. The conversion itself costs nothing: it becomes part of the look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import may_rewrite
from xir.ir.walking import ops_in
from xir.transforms.xnnpack._tables import is_dequantise, table_through


@dataclass(frozen=True)
class IsolateTablesPass(XirPass):
    """Give each chain of elementwise nodes between 8-bit numbers its own dequantisation: XNNPACK makes a table of it.

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

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Isolate the chains of every subgraph."""
        for subgraph in ops_in(op, xnnpack.SubgraphOp, graphs=False):
            isolate(subgraph.body.block)


def isolate(block: Block) -> None:
    """Isolate the chains of one subgraph."""
    for op in list(block.ops):
        if not isinstance(op, xnnpack.ConvertOp) or not is_dequantise(op):
            continue
        for use in list(op.output.uses):
            if not op.output.has_one_use() and table_through(op, use.operation) and may_rewrite(use.operation, "copy"):
                block.insert_op_before(copy := op.clone(), use.operation)
                inherit(copy, op)
                use.operation.operands[use.index] = copy.output
