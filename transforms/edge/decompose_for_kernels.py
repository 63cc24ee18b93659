"""`decompose-for-kernels`: from ops without a kernel to ops that have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import edge
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.edge.decompositions import expanded


@dataclass(frozen=True)
class DecomposeForKernelsPass(XirPass):
    """Replace edge ops without a kernel in ExecuTorch by ops that have one.

    The rules are in `transforms/edge/decompositions/`. An op without a rule, or whose rule does not cover the call, is
    left alone.

    Before:
    ```mlir
    %0 = edge.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    After:
    ```mlir
    %0 = edge.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = edge.mul.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Decompose until nothing is left to."""
        rewrite_patterns(op, [_Decompose()], graphs=False)


class _Decompose(RewritePattern):
    """One step: an op becomes what its rule builds."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.EdgeOp, rewriter: PatternRewriter, /) -> None:
        """Decompose one op."""
        try:
            meant = expanded(op)
        except RefusalError:
            return
        if meant is not None:
            rewriter.replace(op, meant.ops, meant.results)
