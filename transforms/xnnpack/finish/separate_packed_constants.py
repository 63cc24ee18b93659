"""Give a constant that is packed, and read as it is as well, a value for each.

A weighted node copies filter and bias into a layout of its own when a program is loaded; others read a constant where
it lies. Stock ExecuTorch frees the bytes of a value after loading if any node has packed it (`getPackedValueIds` in
XNNCompiler.cpp, 1.5), so a node that reads the same value reads freed memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Use

from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import may_rewrite
from xir.ir.walking import ops_in


@dataclass(frozen=True)
class SeparatePackedConstantsPass(XirPass):
    """Copy each constant that is a filter or bias of one node and something else of another.

    The file holds the bytes once. Stock ExecuTorch would free them while they are read.

    Before:
    ```mlir
    %0 = xnnpack.constant dense<1.0> : tensor<4xf32>
    %1 = xnnpack.fully_connected %x, %w, %0 : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %2 = xnnpack.binary multiply %1, %0 : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    ```
    After:
    ```mlir
    %0 = xnnpack.constant dense<1.0> : tensor<4xf32>
    %3 = xnnpack.constant dense<1.0> : tensor<4xf32>
    %1 = xnnpack.fully_connected %x, %w, %0 : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %2 = xnnpack.binary multiply %1, %3 : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Separate the constants of every subgraph."""
        for subgraph in ops_in(op, xnnpack.SubgraphOp, graphs=False):
            block = subgraph.body.block
            for constant in [each for each in block.ops if isinstance(each, xnnpack.ConstantOp)]:
                separate(constant, block)


def separate(constant: xnnpack.ConstantOp, block: Block) -> None:
    """Have those that read a packed constant as it is read a copy."""
    uses = list(constant.output.uses)
    packing = [use for use in uses if packs(use)]
    if not packing or len(packing) == len(uses) or not may_rewrite(constant, "copy"):
        return
    copy = constant.clone()
    block.insert_op_after(copy, constant)
    inherit(copy, constant)
    constant.output.replace_uses_with_if(copy.output, lambda use: not packs(use))


def packs(use: Use) -> bool:
    """Whether a node packs its operand: all but its input."""
    return isinstance(use.operation, xnnpack.WeightedOp) and use.index > 0
