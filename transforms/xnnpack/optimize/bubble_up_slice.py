"""Compute only what a slice takes: a slice moves above the op whose result it cuts, if nothing else uses that result.

A classifier reads one token of a transformer's last layer. With the slice before that layer's projections instead of
behind them, each has a single row to compute. The name is that of MLIR's rewrites that do this to
`tensor.extract_slice`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, shape_of, u32s
from xir.dialects.xnnpack.boxes import whole
from xir.dialects.xnnpack.interfaces import Box, SlicesOperands
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.transforms.xnnpack.building.constants import part_of


@dataclass(frozen=True)
class BubbleUpSlicePass(XirPass):
    """Move slices before the ops whose results they cut, if those have no other use.

    A slice that would become several slices stays if it keeps more than half of the elements, because each slice is a
    copy.

    Before:
    ```mlir
    %1 = xnnpack.fully_connected %0, %w : (tensor<197x4xf32>, tensor<6x4xf32>) -> tensor<197x6xf32>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 6>}
         : tensor<197x6xf32> -> tensor<1x6xf32>
    ```
    After:
    ```mlir
    %1 = xnnpack.static_slice %0 {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 4>}
         : tensor<197x4xf32> -> tensor<1x4xf32>
    %2 = xnnpack.fully_connected %1, %w : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<1x6xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "every box behind products, elementwise nodes, transposes and reshapes"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Move every slice as far up as it goes."""
        rewrite_patterns(op, [BubbleUpSlice(ctx)])


class BubbleUpSlice(RewritePattern):
    """op(x) that only equal slices use → op(slice(x))."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.NodeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one op."""
        slices = slices_of(op.results[0])
        if not slices or any(box_of(each) != box_of(slices[0]) for each in slices[1:]):
            return
        slicing = op.get_trait(SlicesOperands)
        if slicing is None or any(DYNAMIC_INDEX in shape_of(value) for value in (*op.operands, *op.results)):
            return
        box = box_of(slices[0])
        boxes = slicing.boxes(op, box)
        if boxes is None or not self.is_worth_it(op, box, boxes):
            return
        # The new slices of the operands inherit the locations of the slices that they replace.
        operands = [
            self.sliced(value, part, slices[0], rewriter) for value, part in zip(op.operands, boxes, strict=True)
        ]
        smaller = rewriter.insert(over_slices(op, operands, slices[0].output))
        for each in slices:
            rewriter.replace(each, [], [smaller.results[0]])

    def is_worth_it(self, op: xnnpack.NodeOp, box: Box, boxes: Sequence[Box]) -> bool:
        """Whether the op saves more than the slices of its operands cost."""
        cut = [value for value, part in zip(op.operands, boxes, strict=True) if part != whole(value)]
        static = [value for value in cut if isinstance(value.owner, xnnpack.ConstantOp)]
        kept = prod(size for _, size in box)
        return len(cut) - len(static) <= 1 or 2 * kept <= prod(shape_of(op.results[0]))

    def sliced(self, value: SSAValue, box: Box, cut: Operation, rewriter: PatternRewriter) -> SSAValue:
        """What `box` takes of an operand; of a constant at once."""
        if box == whole(value):
            return value
        if isinstance(value.owner, xnnpack.ConstantOp):
            index = tuple(slice(offset, offset + size) for offset, size in box)
            return rewriter.insert(part_of(value.owner, index, self.ctx)).output
        if isinstance(element_type(value), xnnpack.DynamicType):
            # Each row is quantised by itself, and only what a conversion to this type gives has it.
            assert isinstance(value.owner, xnnpack.ConvertOp)
            rows = self.sliced(value.owner.input, box, cut, rewriter)
            result = TensorType(element_type(value), shape_of(rows))
            return rewriter.insert(xnnpack.ConvertOp.create(operands=[rows], result_types=[result])).output
        offsets, sizes = zip(*box, strict=True)
        node = xnnpack.StaticSliceOp.create(
            operands=[value],
            result_types=[TensorType(element_type(value), sizes)],
            properties={"offsets": u32s(offsets), "sizes": u32s(sizes)},
        )
        inherit(node, cut)
        return rewriter.insert(node).output


def over_slices(op: xnnpack.NodeOp, operands: Sequence[SSAValue], result: SSAValue) -> xnnpack.NodeOp:
    """`op` over slices of its operands, with the type of `result`."""
    properties = dict(op.properties)
    if isinstance(op, xnnpack.StaticReshapeOp):
        properties["new_shape"] = u32s(shape_of(result))
    node = type(op).create(operands=operands, result_types=[result.type], properties=properties)
    inherit(node, op)
    return node


def slices_of(value: SSAValue) -> list[xnnpack.StaticSliceOp]:
    """The users of a value if all of them are slices, else none."""
    slices: list[xnnpack.StaticSliceOp] = []
    for use in value.uses:
        if not isinstance(use.operation, xnnpack.StaticSliceOp):
            return []
        slices.append(use.operation)
    return slices


def box_of(op: xnnpack.StaticSliceOp) -> Box:
    """What a slice takes."""
    return tuple(zip(ints(op.offsets), ints(op.sizes), strict=True))
