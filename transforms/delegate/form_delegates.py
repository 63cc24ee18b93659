"""Gather the ops that backends take in as few delegates as possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from xir.dialects import edge
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import erase_dead_ops
from xir.transforms.delegate.forming.groups import form_groups, ops_along
from xir.transforms.delegate.forming.marks import Marks, Refuse, erase_marks, function_blocks, read_marks, reporter
from xir.transforms.delegate.forming.regions import move_into_regions


@dataclass(frozen=True)
class FormDelegatesPass(XirPass):
    """Move the ops that `mark-delegates` marked into as few delegates as possible, each a `delegate.region`.

    Ops that only move data between ops outside stay outside, with the reason. A backend's own pass, such as
    `legalize-to-xnnpack`, then turns the regions into its graphs.

    Before:
    ```mlir
    %0 = edge.abs(%x) {xir.backend = "xnnpack"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = edge.relu(%0) {xir.backend = "xnnpack"} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    After:
    ```mlir
    %1 = delegate.region "xnnpack" : tensor<4xf32> {
      %2 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %3 = edge.relu(%2) : (tensor<4xf32>) -> tensor<4xf32>
      delegate.yield %3 : tensor<4xf32>
    }
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME

    min_ops: int = 1
    """Leave groups of fewer nodes outside."""
    per_op: bool = False
    """Make each op a delegate of its own, to find out which one is wrong or slow."""

    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Form the delegates of every function."""
        for block in function_blocks(op):
            marks = read_marks(block)
            erase_marks(block.ops)
            groups = form_groups(
                block, marks, min_ops=self.min_ops, per_op=self.per_op, leave=self.reporter(ctx, marks)
            )
            move_into_regions(block, groups, ops_along(marks))
            erase_dead_ops(block, edge.EdgeOp)

    def reporter(self, ctx: XirContext, marks: Marks) -> Refuse:
        """A function that reports ops as left outside by the backends that they are marked for."""
        return lambda op, refusal: reporter(ctx, self.name, marks.backends[op])(op, refusal)
