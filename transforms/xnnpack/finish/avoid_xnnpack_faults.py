"""Keep graphs from what XNNPACK is known to compute wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from xir.dialects import xnnpack
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import may_rewrite
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.known_faults import faulty_nodes


@dataclass(frozen=True)
class AvoidXnnpackFaultsPass(XirPass):
    """Rewrite nodes that XNNPACK is known to compute wrong, so that its optimiser leaves them alone.

    [XNNPACK's known faults](xnnpack_faults.md) lists the faults with their conditions. The rewritten graphs have the
    same meaning, but XNNPACK computes them right. The pass runs last, because other passes create the conditions and
    would undo the rewrites. `check-xnnpack` refuses nodes whose fault cannot be avoided.

    Before:
    ```mlir
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 1, 0, 2>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %2 = xnnpack.batch_matrix_multiply %1, %1 : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    ```
    After:
    ```mlir
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 1, 0, 2>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %3 = xnnpack.static_reshape %1 {new_shape = array<i32: 2, 2, 2>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %2 = xnnpack.batch_matrix_multiply %3, %3 : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "the smallest graph of each fault, products of a transposed value, and maxima and minima of 0 and 1"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Mend every subgraph."""
        for graph in ops_in(op, xnnpack.SubgraphOp, graphs=False):
            for fault, site in faulty_nodes(graph, ctx):
                if site.mend is not None and may_rewrite(site.node, fault.name):
                    site.mend()
