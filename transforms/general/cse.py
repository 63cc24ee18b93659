"""`cse`: one op where several compute the same."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.traits import ConstantLike, IsolatedFromAbove, is_side_effect_free

from xir.dialects.delegate import GraphOp
from xir.ir.analyses import ValueAnalysis
from xir.ir.annotations import ORIGINS
from xir.ir.attribute_numbers import AttributeNumbers
from xir.ir.context import XirContext
from xir.ir.dominance import immediate_dominators
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import may_rewrite
from xir.ir.traits import DistinctOperands, never_has_effects

_Known = ChainMap[object, Operation]
"""Key of an op -> the op that computes it, in the blocks and regions around the current one."""


@dataclass(frozen=True)
class CsePass(XirPass):
    """Replace an op by an equal one that dominates it.

    Only ops without effects and regions are considered. Equal ops have the same type, operands, properties, attributes
    and result types.

    ```mlir
    // before
    %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = edge.mul.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // after
    %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = edge.mul.Tensor(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "each two of fourteen nodes that differ in an operand, an attribute, a constant or a type"
    preserves: ClassVar = (ValueAnalysis,)

    delegates: bool = True
    """Whether to look into delegates, which have most ops of a program and may already have been cleaned."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """One walk, each block after the blocks that dominate it."""
        walk = _Walk(self.delegates, ctx.attribute_numbers)
        for region in op.regions:
            walk.simplify_region(region, _Known())


@dataclass(frozen=True)
class _Walk:
    delegates: bool
    numbers: AttributeNumbers

    def simplify_region(self, region: Region, known: _Known) -> None:
        known_at: dict[Block, _Known] = {}
        for block, dominator in immediate_dominators(region).items():
            known_at[block] = (known if dominator is None else known_at[dominator]).new_child()
            self.simplify_block(block, known_at[block])

    def simplify_block(self, block: Block, known: _Known) -> None:
        for op in list(block.ops):
            if op.regions:
                if isinstance(op, GraphOp) and not self.delegates:
                    continue
                isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
                for region in op.regions:
                    self.simplify_region(region, _Known() if isolated else known)
                continue
            if not op.results or not (never_has_effects(type(op)) or is_side_effect_free(op)):
                continue
            first = known.setdefault(_key(op, self.numbers), op)
            if first is op or _met_by_distinct(first, op) or not may_rewrite(op, "merge"):
                continue
            if not op.has_trait(ConstantLike):
                inherit(first, first, op)
            for result, replacement in zip(op.results, first.results, strict=True):
                result.replace_all_uses_with(replacement)
            op.detach()
            op.erase()


def _met_by_distinct(first: Operation, op: Operation) -> bool:
    """Whether some op reads both and must not read one value twice."""
    return any(
        use.operation.has_trait(DistinctOperands, value_if_unregistered=False)
        and any(result in use.operation.operands for result in first.results)
        for result in op.results
        for use in result.uses
    )


def _key(op: Operation, numbers: AttributeNumbers) -> object:
    # Of lists: a generator takes twice as long for these few, in programs of thousands of ops.
    operands = tuple([id(operand) for operand in op.operands])
    properties = frozenset([(name, numbers[value]) for name, value in op.properties.items()])
    attributes = frozenset([(name, numbers[value]) for name, value in op.attributes.items() if name != ORIGINS])
    return type(op), operands, properties, attributes, tuple([numbers[result.type] for result in op.results])
