"""`canonicalize`: every op's own simplifications, until none applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait

from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import rewrite_patterns
from xir.ir.walking import ops_in


def canonicalization_patterns(root: Operation, *, graphs: bool = True) -> list[RewritePattern]:
    """The patterns of the op types that are nested in `root`, each once, in the order of first occurrence."""
    op_types = dict.fromkeys(map(type, ops_in(root, Operation, graphs=graphs)))
    traits = {
        trait: None
        for op_type in op_types
        if op_type.has_trait(HasCanonicalizationPatternsTrait, value_if_unregistered=False)
        for trait in op_type.get_traits_of_type(HasCanonicalizationPatternsTrait)
    }
    return [pattern for trait in traits for pattern in trait.get_canonicalization_patterns()]


@dataclass(frozen=True)
class CanonicalizePass(XirPass):
    """Simplify each op by its own rules and erase ops without effect whose results are unused.

    The dialects declare the rules with their ops; this pass has none of its own.

    ```mlir
    // before
    %dead = xnnpack.unary exp %x : tensor<4x6xf32> -> tensor<4x6xf32>
    %0 = xnnpack.static_reshape %x {new_shape = array<i32: 24>} : tensor<4x6xf32> -> tensor<24xf32>
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 3, 8>} : tensor<24xf32> -> tensor<3x8xf32>
    // after
    %1 = xnnpack.static_reshape %x {new_shape = array<i32: 3, 8>} : tensor<4x6xf32> -> tensor<3x8xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "transposes and reshapes that meet, transposes of a product's right operand, clamps and "
        "conversions that do nothing"
    )
    preserves: ClassVar = (ValueAnalysis,)

    delegates: bool = True
    """Whether to look into delegates, which have most ops of a program and may already have been cleaned."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite until nothing changes."""
        patterns = canonicalization_patterns(op, graphs=self.delegates)
        while rewrite_patterns(op, patterns, graphs=self.delegates):
            # A rewrite may have brought in op types with rules of their own.
            following = canonicalization_patterns(op, graphs=self.delegates)
            if {type(pattern) for pattern in following} <= {type(pattern) for pattern in patterns}:
                return
            patterns = following
