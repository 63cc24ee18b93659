"""Ask a backend which ops it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from xir.backend.interface import Request
from xir.backend.registry import backend_named
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.targets import Target
from xir.transforms.delegate.forming.late_refusals import DelegatingPass
from xir.transforms.delegate.forming.legalize import say_notes
from xir.transforms.delegate.forming.marks import (
    function_blocks,
    mark,
    number_origins,
    read_marks,
    reporter,
    take_back,
    write_marks,
)
from xir.transforms.delegate.forming.op_filter import FLOATS, FloatName, OpSelection


@dataclass(frozen=True)
class MarkDelegatesPass(DelegatingPass):
    """Mark the edge ops that a backend accepts, except those that are already marked for another backend.

    Each undelegated op is reported with its reason, which is also its attribute `xir.reason`; a backend that is asked
    later may still take it. Ops that do nothing are removed. `form-delegates` turns marked ops into delegates.

    Before:
    ```mlir
    %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    After:
    ```mlir
    %0 = edge.abs(%x) {xir.backend = "xnnpack"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = edge.cumsum(%0) {dim = 0 : i64, xir.reason = "no rule lowers it to XNNPACK"}
         : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME

    backend: str
    """The backend's name."""
    target: Target = "executorch"
    """The runtime whose features may be used."""
    ops: tuple[str, ...] = ()
    """Delegate only these ops; all ops if none is named. A name without overload stands for all overloads."""
    exclude: tuple[str, ...] = ()
    """Leave these ops outside, named as for `ops`."""
    dtypes: tuple[FloatName, ...] = FLOATS
    """Delegate only ops that compute in these floating-point types."""
    check: bool = True
    """Ask the backend's library itself whether it accepts the nodes of an op."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        """ValueError for the name of a backend or of an op that does not exist."""
        backend_named(self.backend)
        OpSelection.of(self.ops, self.exclude, self.dtypes)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Mark the ops of every function."""
        number_origins(ctx, op)
        trial = backend_named(self.backend).trial(ctx, Request(self.target, self.check))
        selection = OpSelection.of(self.ops, self.exclude, self.dtypes)
        selection.check_names(op)
        refuse = reporter(ctx, f"{self.name}{{backend={self.backend}}}", self.backend)
        for block in function_blocks(op):
            marks = read_marks(block)
            mark(block, self.backend, trial, selection, marks, refuse)
            write_marks(marks)
        say_notes(ctx, op, self.name, trial)

    def take_back(self, module: ModuleOp, refused: Mapping[int, str], backend: str, by: str) -> None:
        """Keep the backend from taking these ops, by their numbers."""
        take_back(module, refused, backend, by)
