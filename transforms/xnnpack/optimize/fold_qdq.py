"""Raise dequantise → node → quantise to one node on integers.

Rules build floating-point nodes between conversions. The pass first lets each conversion move to where it meets a node:
one that dequantises moves down over nodes that only move data, one that quantises up, so that data moves as integers.
A node between such conversions then is one node on integers if XNNPACK has it: the node is built with quantised types,
and its verifier says. What it refuses stays as it was, in floating point in the same subgraph.

A chain of elementwise nodes with one operand each is best left alone: XNNPACK makes one table look-up of everything
between two conversions, as `analysis/tables.py` says. What then still computes in floating point is reported, with the
reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from xir.dialects import xnnpack
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import erase_dead_ops, rewrite_once
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis.stays_float import report_floats
from xir.transforms.xnnpack.optimize._fold_filters import FoldFilter, FoldRunTimeInput
from xir.transforms.xnnpack.optimize._fold_quantize import FoldQuantize
from xir.transforms.xnnpack.optimize._move_conversions import DequantizeLeftOver, SinkDequantize


@dataclass(frozen=True)
class FoldQdqPass(XirPass):
    """Turn nodes between dequantise and quantise into integer nodes, where XNNPACK has them.

    Weights and biases become integers; constants that no node takes as integers are dequantised. Each op that stays in
    floating point is reported with its reason.

    Before:
    ```mlir
    %1 = xnnpack.convert %0 : tensor<1x4x!quant.uniform<i8:f32, 0.5>> -> tensor<1x4xf32>
    %2 = xnnpack.binary add %1, %1 : tensor<1x4xf32>, tensor<1x4xf32> -> tensor<1x4xf32>
    %3 = xnnpack.convert %2 : tensor<1x4xf32> -> tensor<1x4x!quant.uniform<i8:f32, 1.0>>
    ```
    After:
    ```mlir
    %3 = xnnpack.binary add %0, %0
         : tensor<1x4x!quant.uniform<i8:f32, 0.5>>, tensor<1x4x!quant.uniform<i8:f32, 0.5>>
           -> tensor<1x4x!quant.uniform<i8:f32, 1.0>>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.REQUANTIZED
    proved: ClassVar[str] = "sums, products, moves, clamps and layers with weights, where scales are powers of 2"
    preserves: ClassVar = (ValueAnalysis,)
    uses_origins: ClassVar[bool] = True

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Fold in every subgraph of the module."""
        for subgraph in list(ops_in(op, xnnpack.SubgraphOp)):
            fold(subgraph.body.block, ctx)


def fold(block: Block, ctx: XirContext) -> None:
    """Fold in one block. Each step takes up what those before it have left in floating point."""
    if not any(isinstance(op, xnnpack.ConvertOp) for op in block.ops):
        return
    reported: set[Operation] = set()
    rewrite_once(block, SinkDequantize())
    rewrite_once(block, FoldQuantize(ctx))
    rewrite_once(block, FoldRunTimeInput(ctx, reported))
    # The float form of a filter that became integers is not worth computing, nor reporting.
    erase_dead_ops(block)
    report_floats(block, ctx)
    rewrite_once(block, FoldFilter(ctx, reported))
    erase_dead_ops(block)
    rewrite_once(block, DequantizeLeftOver(ctx))
    erase_dead_ops(block)
