"""`decompose-for-kernels`: from ops without a kernel to ops that have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter

from xir.dialects import edge
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.transforms.edge.decompositions import DECOMPOSITIONS, EdgeBuilder


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
        rule = DECOMPOSITIONS.get(op.name)
        if rule is None or op.has_run_time_numbers:
            return
        builder = EdgeBuilder()
        made = rule(op, builder)
        if made is None:
            return
        results = [made] if isinstance(made, SSAValue) else list(made)
        results = [_with_type_of(old, new, builder) for old, new in zip(op.results, results, strict=True)]
        rewriter.replace(op, builder.ops, results)


def _with_type_of(old: SSAValue, new: SSAValue, builder: EdgeBuilder) -> SSAValue:
    """A new result with the old one's type, which may have dimensions that inference cannot find."""
    if new.type == old.type or new.owner not in builder.ops:
        return new
    return Rewriter.replace_value_with_new_type(new, old.type)
