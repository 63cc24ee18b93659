"""Ask a backend whether the graphs of its delegates will run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from xir.backend.interface import Request
from xir.backend.registry import backend_named
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.targets import Target
from xir.transforms.delegate.forming.graph_checks import check_graphs
from xir.transforms.delegate.forming.late_refusals import RefusingPass


@dataclass(frozen=True)
class CheckDelegatesPass(RefusingPass):
    """Let a backend check the graphs of its delegates, each at its largest shapes.

    `mark-delegates` asks about single ops, before other passes fuse and rearrange them. A node that the backend refuses
    now is an error. After `mark-delegates` or `partition-xnnpack` in one pipeline, the ops that it was made of stay
    outside instead, and delegates are formed again. `check-xnnpack` is this pass for XNNPACK.
    """

    backend: str
    """The backend's name."""
    target: Target = "executorch"
    """The runtime that the file is for."""

    numerics: ClassVar[Numerics] = Numerics.SAME
    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        """ValueError if there is no backend of that name."""
        backend_named(self.backend)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Check the backend's graphs in every function. LateRefusalError for what it refuses."""
        check_graphs(ctx, op, self.backend, Request(self.target), self.name)
