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
    """Define every subgraph in the installed XNNPACK, at its largest shapes: what the file holds will load.

    `partition-xnnpack` asks about each node by itself, before other passes fuse nodes and choose their layouts, and
    about none with a dynamic shape. This asks about the subgraphs that come out of that; of the thousands of nodes that
    composed ops are made of, equal ones are shown once. A node that XNNPACK refuses is an error; behind
    `partition-xnnpack` in one pipeline, it is taken back: the ops that it was made of stay outside. So is a node that
    XNNPACK is known to compute wrong ([XNNPACK's known faults](xnnpack_faults.md)); `avoid-xnnpack-faults` in front
    leaves few of them, also in graphs that are written by hand. Where there is no XNNPACK, nothing else is checked. It
    is `check-delegates{backend=xnnpack}`.
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Check every function. LateRefusalError for the nodes that XNNPACK refuses."""
        check_graphs(ctx, op, XnnpackBackend.name, Request(), self.name)
