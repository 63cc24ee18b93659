"""Outline what XNNPACK can compute: marking, forming and legalising in one pass, which runs each rule once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from xir.backend.interface import Request
from xir.dialects import edge
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.rewriting import erase_dead_ops
from xir.ir.targets import Target
from xir.transforms.delegate.forming.groups import form_groups, ops_along
from xir.transforms.delegate.forming.late_refusals import DelegatingPass
from xir.transforms.delegate.forming.legalize import replace_by_graph, say_notes
from xir.transforms.delegate.forming.marks import Marks, function_blocks, mark, number_origins, reporter, take_back
from xir.transforms.delegate.forming.op_filter import FLOATS, FloatName, OpSelection
from xir.transforms.xnnpack.backend import XnnpackBackend


@dataclass(frozen=True)
class PartitionXnnpackPass(DelegatingPass):
    """Outline maximal groups of edge ops that XNNPACK can compute into `xnnpack.subgraph`, lowered to xnnpack ops.

    The pass combines `mark-delegates{backend=xnnpack}`, `form-delegates` and `legalize-to-xnnpack`, with the same
    result. Each undelegated op is reported with its reason, which is also its attribute `xir.reason`. Ops join
    subgraphs that the program has already, such as one that was raised from a file.

    Before:
    ```mlir
    %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    After:
    ```mlir
    %0 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %b = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
      xnnpack.yield %b : tensor<4xf32>
    }
    %1 = edge.cumsum(%0) {dim = 0 : i64, xir.reason = "no rule lowers it to XNNPACK"}
         : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED

    target: Target = "executorch"
    """The runtime whose nodes may be used."""
    ops: tuple[str, ...] = ()
    """Delegate only these ops; all ops if none is named. A name without overload stands for all overloads."""
    exclude: tuple[str, ...] = ()
    """Leave these ops outside, named as for `ops`."""
    dtypes: tuple[FloatName, ...] = FLOATS
    """Delegate only ops that compute in these floating-point types."""
    min_ops: int = 1
    """Leave groups of fewer nodes outside."""
    per_op: bool = False
    """Make each op a subgraph of its own, to find out which one is wrong or slow."""
    check: bool = True
    """Ask XNNPACK itself whether it accepts each node."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        """ValueError for the name of an op that does not exist."""
        OpSelection.of(self.ops, self.exclude, self.dtypes)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Partition every function of the module."""
        number_origins(ctx, op)
        backend, request = XnnpackBackend(), Request(self.target, self.check)
        trial = backend.trial(ctx, request)
        selection = OpSelection.of(self.ops, self.exclude, self.dtypes)
        selection.check_names(op)
        leave = reporter(ctx, self.name, backend.name)
        for block in function_blocks(op):
            marks = Marks()
            mark(block, backend.name, trial, selection, marks, leave)
            groups = form_groups(block, marks, min_ops=self.min_ops, per_op=self.per_op, leave=leave)
            for each in ops_along(marks):
                each.operands = ()
            for group in groups:
                replace_by_graph(ctx, backend, group.ops, marks.taken, request)
            erase_dead_ops(block, edge.EdgeOp)
        say_notes(ctx, op, self.name, trial)

    def take_back(self, module: ModuleOp, refused: Mapping[int, str], backend: str, by: str) -> None:
        """Leave the ops of these numbers outside."""
        take_back(module, refused, backend, by)
