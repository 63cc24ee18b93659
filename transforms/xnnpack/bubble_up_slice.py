"""Compute only what a slice takes: a slice moves above the op whose result it cuts, if nothing else uses that result.

A classifier reads one token of a transformer's last layer. With the slice before that layer's projections instead of
behind them, each has a single row to compute. The name is that of MLIR's rewrites that do this to
`tensor.extract_slice`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, rank_of, shape_of, u32s
from xir.dialects.xnnpack.elementwise import SameShapeOp
from xir.ir.context import XirContext
from xir.ir.passes import XirPass
from xir.ir.rewriting import rewrite_patterns
from xir.transforms.xnnpack._constants import part_of

Box = tuple[tuple[int, int], ...]
"""(offset, size) in each dimension of a tensor."""


@dataclass(frozen=True)
class BubbleUpSlicePass(XirPass):
    """Move slices above the ops whose results they cut, where those have no other use.

    A slice that would become several stays where it is if it takes more than half: each is a copy.

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

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Move every slice as far up as it goes."""
        rewrite_patterns(op, [BubbleUpSlice(ctx)])


class BubbleUpSlice(RewritePattern):
    """op(x) that only equal slices use → op(slice(x))."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.NodeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one op."""
        boxes_of = boxes_function(op)
        if boxes_of is None or any(DYNAMIC_INDEX in shape_of(value) for value in (*op.operands, *op.results)):
            return
        slices = slices_of(op.results[0])
        if not slices or any(box_of(each) != box_of(slices[0]) for each in slices[1:]):
            return
        box = box_of(slices[0])
        boxes = boxes_of(op, box)
        if boxes is None or not self.is_worth_it(op, box, boxes):
            return
        operands = [self.sliced(value, part, rewriter) for value, part in zip(op.operands, boxes, strict=True)]
        smaller = rewriter.insert(over_slices(op, operands, slices[0].output))
        for each in slices:
            rewriter.replace(each, [], [smaller.results[0]])

    def is_worth_it(self, op: xnnpack.NodeOp, box: Box, boxes: Sequence[Box]) -> bool:
        """Whether the op saves more than the slices of its operands cost."""
        cut = [value for value, part in zip(op.operands, boxes, strict=True) if part != whole(value)]
        static = [value for value in cut if isinstance(value.owner, xnnpack.ConstantOp)]
        kept = prod(size for _, size in box)
        return len(cut) - len(static) <= 1 or 2 * kept <= prod(shape_of(op.results[0]))

    def sliced(self, value: SSAValue, box: Box, rewriter: PatternRewriter) -> SSAValue:
        """What `box` takes of an operand; of a constant at once."""
        if box == whole(value):
            return value
        if isinstance(value.owner, xnnpack.ConstantOp):
            index = tuple(slice(offset, offset + size) for offset, size in box)
            return rewriter.insert(part_of(value.owner, index, self.ctx)).output
        if isinstance(element_type(value), xnnpack.DynamicType):
            # Each row is quantised by itself, and only what a conversion to this type gives has it.
            assert isinstance(value.owner, xnnpack.ConvertOp)
            rows = self.sliced(value.owner.input, box, rewriter)
            result = TensorType(element_type(value), shape_of(rows))
            return rewriter.insert(xnnpack.ConvertOp.create(operands=[rows], result_types=[result])).output
        offsets, sizes = zip(*box, strict=True)
        node = xnnpack.StaticSliceOp.create(
            operands=[value],
            result_types=[TensorType(element_type(value), sizes)],
            properties={"offsets": u32s(offsets), "sizes": u32s(sizes)},
        )
        return rewriter.insert(node).output


def over_slices(op: xnnpack.NodeOp, operands: Sequence[SSAValue], result: SSAValue) -> xnnpack.NodeOp:
    """`op` over slices of its operands, with the type of `result`."""
    properties = dict(op.properties)
    if isinstance(op, xnnpack.StaticReshapeOp):
        properties["new_shape"] = u32s(shape_of(result))
    node = type(op).create(operands=operands, result_types=[result.type], properties=properties)
    node.location = op.location
    return node


def slices_of(value: SSAValue) -> list[xnnpack.StaticSliceOp]:
    """The users of a value if all of them are slices, else none."""
    users = [use.operation for use in value.uses]
    slices = [user for user in users if isinstance(user, xnnpack.StaticSliceOp)]
    return slices if len(slices) == len(users) else []


def box_of(op: xnnpack.StaticSliceOp) -> Box:
    """What a slice takes."""
    return tuple(zip(ints(op.offsets), ints(op.sizes), strict=True))


def whole(value: SSAValue) -> Box:
    """All of a value."""
    return tuple((0, size) for size in shape_of(value))


BoxesFunction = Callable[[Any, Box], "list[Box] | None"]
"""For an op and a box of its result: the box of each operand that it takes, or None if there is none."""


def boxes_function(op: xnnpack.NodeOp) -> BoxesFunction | None:
    """How the boxes of an op's operands follow from its result's; None for an op that mixes dimensions."""
    return next((function for kind, function in BOXES if isinstance(op, kind)), None)


def aligned(box: Sequence[tuple[int, int]], value: SSAValue, inner: int = 0) -> Box:
    """A box of a broadcast result as one of an operand, without its `inner` last dimensions."""
    shape = shape_of(value)[: rank_of(value) - inner]
    parts = box[len(box) - len(shape) :]
    return tuple((0, 1) if size == 1 else part for size, part in zip(shape, parts, strict=True))


def of_softmax(op: xnnpack.SoftmaxOp, box: Box) -> list[Box] | None:
    """Each row is normalised as a whole."""
    return [box] if box[-1] == whole(op.output)[-1] else None


def of_elementwise(op: xnnpack.NodeOp, box: Box) -> list[Box]:
    """The result's box, less the dimensions that an operand lacks, and all of those that it repeats."""
    return [aligned(box, value) for value in op.operands]


def of_fully_connected(op: xnnpack.FullyConnectedOp, box: Box) -> list[Box] | None:
    """Rows of the input, each with all features, by the whole filter."""
    if box[-1] != whole(op.output)[-1]:
        return None
    return [(*box[:-1], whole(op.input)[-1]), *(whole(value) for value in op.operands[1:])]


def of_matrices(op: xnnpack.BatchMatrixMultiplyOp, box: Box) -> list[Box]:
    """Rows of the left and columns of the right matrices; a dimension of 1 is broadcast to the batch."""
    *batch, rows, columns = box
    depth = whole(op.lhs)[-1]
    right = (depth, columns) if op.transpose_b is None else (columns, depth)
    return [(*aligned(batch, op.lhs, 2), rows, depth), (*aligned(batch, op.rhs, 2), *right)]


def of_transpose(op: xnnpack.StaticTransposeOp, box: Box) -> list[Box]:
    """The same box, its dimensions in the operand's order."""
    parts = dict(zip(ints(op.perm), box, strict=True))
    return [tuple(parts[axis] for axis in range(len(box)))]


def of_reshape(op: xnnpack.StaticReshapeOp, box: Box) -> list[Box] | None:
    """The same box, if each dimension that it cuts is one of the operand's too: as large, with as much before it."""
    before, after = shape_of(op.input), shape_of(op.output)
    axes = {outer: axis for axis, (outer, size) in enumerate(zip(outer_sizes(before), before, strict=True)) if size > 1}
    parts = list(whole(op.input))
    for outer, size, part in zip(outer_sizes(after), after, box, strict=True):
        if part == (0, size):
            continue
        axis = axes.get(outer)
        if axis is None or before[axis] != size:
            return None
        parts[axis] = part
    return [tuple(parts)]


def outer_sizes(shape: Sequence[int]) -> list[int]:
    """For each dimension the product of those before it."""
    return [prod(shape[:axis]) for axis in range(len(shape))]


BOXES: tuple[tuple[type[xnnpack.NodeOp], BoxesFunction], ...] = (
    (xnnpack.SoftmaxOp, of_softmax),
    (SameShapeOp, of_elementwise),
    (xnnpack.ConvertOp, of_elementwise),
    (xnnpack.BinaryOp, of_elementwise),
    (xnnpack.FullyConnectedOp, of_fully_connected),
    (xnnpack.BatchMatrixMultiplyOp, of_matrices),
    (xnnpack.StaticTransposeOp, of_transpose),
    (xnnpack.StaticReshapeOp, of_reshape),
)
"""The first class that an op is of counts: a softmax has its operand's shape but is not elementwise."""
