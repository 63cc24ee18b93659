"""Check the finished subgraphs with the XNNPACK that is installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from xir.backend.interface import Request
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.transforms.delegate.forming.graph_checks import check_graphs
from xir.transforms.delegate.forming.late_refusals import RefusingPass
from xir.transforms.xnnpack.backend import XnnpackBackend


@dataclass(frozen=True)
class CheckXnnpackPass(RefusingPass):
    """Define every subgraph in the installed XNNPACK, at its largest shapes, to make sure that the file will load.

    `partition-xnnpack` asks XNNPACK about single nodes, before other passes fuse nodes and choose layouts, and not
    about dynamic shapes. This pass asks about the resulting subgraphs; equal nodes of composed ops are shown once. A
    node that XNNPACK refuses is an error. After `partition-xnnpack` in one pipeline, the ops that it was made of stay
    outside instead. The same applies to a node that XNNPACK is known to compute wrong ([XNNPACK's known
    faults](xnnpack_faults.md)); `avoid-xnnpack-faults` before this pass leaves few of them. Without XNNPACK, only those
    are checked. The pass is `check-delegates{backend=xnnpack}`.
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Check every function. LateRefusalError for the nodes that XNNPACK refuses."""
        check_graphs(ctx, op, XnnpackBackend.name, Request(), self.name)
