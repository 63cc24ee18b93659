"""The backend's legalisation as a pass, and the pipelines that have it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from xir.plugin import Request, XirContext, XirPass, legalize_regions, register_pass, register_pipeline


@register_pass
@dataclass(frozen=True)
class LegalizeToMasksPass(XirPass):
    """Make `masks.graph` ops of the regions that `form-delegates` has made for masks.

    Before:
    ```mlir
    %1 = delegate.region "masks" : tensor<4xi1> {
      %0 = edge.gt.Scalar(%x) {other = 0 : i64} : (tensor<4xi64>) -> tensor<4xi1>
      delegate.yield %0 : tensor<4xi1>
    }
    ```
    After:
    ```mlir
    %1 = masks.graph(%x) : (tensor<4xi64>) -> tensor<4xi1> {
    ^bb0(%a: tensor<4xi64>):
      %b = masks.constant dense<0> : tensor<i64>
      %c = masks.compute greater(%a, %b) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
      masks.yield %c : tensor<4xi1>
    }
    ```
    """

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Legalise each region."""
        legalize_regions(ctx, op, "masks", Request())


register_pipeline(
    "delegate-masks",
    "simplify,mark-delegates{backend=masks},form-delegates,legalize-to-masks,check-delegates{backend=masks}",
)
