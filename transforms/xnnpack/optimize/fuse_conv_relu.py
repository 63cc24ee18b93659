"""Clamp-like activations become output bounds of the node before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.interfaces import rearranges
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.remarks import RemarkKind, missed, wanted
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.ir.tensor_types import element_type, shape_of
from xir.ir.walking import ops_in
from xir.transforms.analysis.cost import bytes_moved
from xir.transforms.xnnpack.legalizations.rule import bounds


class FuseClamp(RewritePattern):
    """clamp(move(node)) → move(node within bounds), if the unclamped values have no other users."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.ClampOp, rewriter: PatternRewriter, /) -> None:
        """Fuse one clamp."""
        producer = bounded_producer(op.input)
        if producer is None:
            return
        low = max(producer.bounds[0], op.bounds[0])
        high = min(producer.bounds[1], op.bounds[1])
        if not low < high or cuts_off(op) or not takes(producer, op, bounds(low, high)):
            return
        inherit(producer, producer, op)
        rewriter.notify_op_modified(producer)
        rewriter.replace(op, [], [op.input])


def bounded_producer(value: SSAValue) -> xnnpack.BoundedOp | None:
    """The node with output bounds that makes `value`, through nodes that only move data, each with this one use."""
    while value.has_one_use():
        owner = value.owner
        if not isinstance(owner, Operation) or not rearranges(owner):
            return owner if isinstance(owner, xnnpack.BoundedOp) and owner.can_clamp else None
        value = owner.operands[0]
    return None


def cuts_off(clamp: xnnpack.ClampOp) -> bool:
    """Whether the integers of a clamp's operand end at a number that the clamp's own would go beyond."""
    before, after = element_type(clamp.input), element_type(clamp.output)
    if before == after or not isinstance(before, UniformType) or not isinstance(after, UniformType):
        return False
    (lowest, highest), (low, high) = numbers_of(before), numbers_of(after)
    return max(low, clamp.bounds[0]) < lowest or min(high, clamp.bounds[1]) > highest


def numbers_of(element: UniformType) -> tuple[float, float]:
    """The smallest and the largest number of a type that is quantised by tensor."""
    ends = (element.storage_min.data, element.storage_max.data)
    low, high = ((end - element.zero_point) * element.scale for end in ends)
    return low, high


def takes(producer: xnnpack.BoundedOp, clamp: xnnpack.ClampOp, bounds: Mapping[str, Attribute]) -> bool:
    """Give the node these bounds, and with what moves its result the scale of the clamp's result.

    False, with nothing changed, if XNNPACK has no such node.
    """
    element = element_type(clamp.output)
    owners = [producer_of(clamp.input)]
    while owners[-1] is not producer:
        owners.append(producer_of(owners[-1].operands[0]))
    types, properties = [owner.results[0].type for owner in owners], dict(producer.properties)
    for name in ("output_min", "output_max"):
        producer.properties.pop(name, None)
    producer.properties.update(bounds)
    if not isinstance(element, UniformType):
        return True
    for owner in owners:
        set_type(owner.results[0], TensorType(element, shape_of(owner.results[0])))
    try:
        for owner in owners:
            owner.verify_()
    except VerifyException:
        producer.properties = properties
        for owner, type in zip(owners, types, strict=True):
            set_type(owner.results[0], type)
        return False
    return True


def set_type(value: SSAValue, type: Attribute) -> None:
    """Change a value's type, if it has another."""
    if value.type != type:
        Rewriter.replace_value_with_new_type(value, type)


def producer_of(value: SSAValue) -> Operation:
    """The op that makes a value which is no argument."""
    assert isinstance(value.owner, Operation)
    return value.owner


@dataclass(frozen=True)
class FuseConvReluPass(XirPass):
    """Fuse relu, relu6, hardtanh and clamp into the node before them, as its `output_min` and `output_max`.

    This applies to any node with output bounds: convolutions, fully connected, arithmetic, pooling, and other clamps. A
    quantised node also takes the scale of the clamp's result, which has more steps between the bounds; a node whose own
    integers end within the bounds is left alone.

    Before:
    ```mlir
    %1 = xnnpack.conv2d %0, %w : (tensor<1x8x8x3xf32>, tensor<4x1x1x3xf32>) -> tensor<1x8x8x4xf32>
    %2 = xnnpack.clamp %1 {output_min = 0.0 : f32} : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32>
    ```
    After:
    ```mlir
    %1 = xnnpack.conv2d %0, %w {output_min = 0.0 : f32}
         : (tensor<1x8x8x3xf32>, tensor<4x1x1x3xf32>) -> tensor<1x8x8x4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "clamps behind clamps, sums and products, on numbers and on integers of several types"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Fuse every clamp that can be."""
        rewrite_patterns(op, [FuseClamp()])
        if wanted(RemarkKind.MISSED):
            for clamp in ops_in(op, xnnpack.ClampOp):
                figures = {} if (moved := bytes_moved(clamp)) is None else {"BytesMoved": moved}
                missed(clamp, "fuse-clamp", "xnnpack.clamp is a node of its own", why_not(clamp), figures=figures)


def why_not(clamp: xnnpack.ClampOp) -> str:
    """Why a clamp was not fused into the node before it."""
    value, is_shared = clamp.input, not clamp.input.has_one_use()
    while isinstance(owner := value.owner, Operation) and rearranges(owner):
        value = owner.operands[0]
        is_shared |= not value.has_one_use()
    if not isinstance(owner, Operation):
        return "what it clamps comes from outside the subgraph"
    if not isinstance(owner, xnnpack.BoundedOp) or not owner.can_clamp:
        return f"{owner.name} has no output bounds"
    if is_shared:
        return f"the result of {owner.name} is used without the bounds as well"
    if not max(owner.bounds[0], clamp.bounds[0]) < min(owner.bounds[1], clamp.bounds[1]):
        return "both bounds leave no number between them"
    if cuts_off(clamp):
        return f"the integers of {owner.name} end before those of the clamp"
    return f"XNNPACK has no {owner.name} with a result of type {element_type(clamp.output)} within these bounds"
