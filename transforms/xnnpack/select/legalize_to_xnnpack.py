"""Make subgraphs of the regions that XNNPACK is to compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from xir.backend.interface import Request
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.targets import Target
from xir.transforms.delegate.forming.late_refusals import RefusingPass
from xir.transforms.delegate.forming.legalize import legalize_regions
from xir.transforms.xnnpack.backend import XnnpackBackend


@dataclass(frozen=True)
class LegalizeToXnnpackPass(RefusingPass):
    """Replace each `delegate.region "xnnpack"` by an `xnnpack.subgraph`, its ops lowered to xnnpack ops by their rules.

    An op without a rule, or that its rule refuses, is an error. After `mark-delegates` in one pipeline it stays outside
    instead, and delegates are formed again.

    Before:
    ```mlir
    %1 = delegate.region "xnnpack" : tensor<4xf32> {
      %2 = edge.abs(%0) : (tensor<4xf32>) -> tensor<4xf32>
      delegate.yield %2 : tensor<4xf32>
    }
    ```
    After:
    ```mlir
    %1 = xnnpack.subgraph(%0) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %b = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
      xnnpack.yield %b : tensor<4xf32>
    }
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED

    target: Target = "executorch"
    """The runtime whose nodes may be used."""
    check: bool = True
    """Ask XNNPACK itself whether it accepts each node."""

    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Legalise the regions of every function. LateRefusalError for ops that XNNPACK does not take."""
        legalize_regions(ctx, op, XnnpackBackend.name, Request(self.target, self.check))
