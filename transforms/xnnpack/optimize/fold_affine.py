"""Constant factors and offsets next to a linear node become part of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, rank_of, shape_of
from xir.dialects.xnnpack.interfaces import Movement, movement_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import is_large_splat, storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.remarks import RemarkKind, missed, wanted
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.ir.walking import ops_in
from xir.transforms.analysis.cost import bytes_moved
from xir.transforms.xnnpack.building.constants import constant_like
from xir.transforms.xnnpack.legalizations.rule import bounds


@dataclass(frozen=True)
class FoldAffinePass(XirPass):
    """Fold multiplications by constants and additions of constants into the weights and bias of a neighbouring node.

    After a convolution or fully connected node, the pass folds factors and offsets for all elements or for each output
    channel, and adjusts the node's output bounds. Before fully connected nodes, it folds factors and offsets for each
    feature, such as the scale and shift of a layer norm, if nothing else uses them. Weights that are a large splat are
    not expanded.

    Before:
    ```mlir
    %1 = xnnpack.fully_connected %0, %w, %b : (tensor<5x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<5x3xf32>
    %2 = xnnpack.binary multiply %1, %c : tensor<5x3xf32>, tensor<1xf32> -> tensor<5x3xf32>
    ```
    After, with w' = c·w and b' = c·b:
    ```mlir
    %2 = xnnpack.fully_connected %0, %w', %b' : (tensor<5x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<5x3xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED
    proved: ClassVar[str] = (
        "factors and offsets behind convolutions and fully connected nodes, and in front of the latter, at "
        "once and through moves"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Fold until nothing can be."""
        rewrite_patterns(op, [FoldBehind(ctx), FoldInFront(ctx)])
        if wanted(RemarkKind.MISSED):
            for node in ops_in(op, xnnpack.BinaryOp):
                if (reason := why_not(node, ctx)) is not None:
                    figures = {} if (moved := bytes_moved(node)) is None else {"BytesMoved": moved}
                    text = f"{node.name} {node.kind.data} by a constant is a node of its own"
                    missed(node, "fold-affine", text, reason, figures=figures)


def why_not(node: xnnpack.BinaryOp, ctx: XirContext) -> str | None:
    """Why a factor or an offset was not folded into the linear node before it; None where there is nothing to fold."""
    affine = affine_of(node, ctx)
    if affine is None:
        return None
    value, is_shared = affine.value, not affine.value.has_one_use()
    while isinstance(linear := value.owner, Operation) and movement_of(linear) is Movement.PERMUTES:
        value = linear.operands[0]
        is_shared |= not value.has_one_use()
    if not isinstance(linear, xnnpack.WeightedOp):
        return None
    if is_shared:
        return f"the result of {linear.name} has other users"
    if WeightFolder(ctx).arrays(linear) is None:
        return f"the weights of {linear.name} are no fp32 constants, or one number over and over"
    if linear.bounds != (-np.inf, np.inf):
        return f"{linear.name} bounds its result, which it would move"
    return "it differs by elements that the nodes between move"


@dataclass(frozen=True)
class Affine:
    """What `x · factor` or `x + offset` does by the last dimension of x: one number, or one for each element of it."""

    value: SSAValue
    factor: np.ndarray
    offset: np.ndarray

    @property
    def is_uniform(self) -> bool:
        """Whether all elements are treated alike."""
        return self.factor.size == 1 and self.offset.size == 1


def affine_of(op: xnnpack.BinaryOp, ctx: XirContext) -> Affine | None:
    """The binary node as an affine map of one operand; None if it is not, or not by the last dimension."""
    lhs, rhs, kind = op.lhs, op.rhs, op.kind.data
    if isinstance(lhs.owner, xnnpack.ConstantOp) and kind in ("multiply", "add"):
        lhs, rhs = rhs, lhs
    if not isinstance(rhs.owner, xnnpack.ConstantOp) or isinstance(lhs.owner, xnnpack.ConstantOp):
        return None
    if lhs.type != op.output.type or element_type(lhs) != f32:
        return None
    number = storage_array(rhs.owner.elements, ctx, rhs.owner)
    if number.size != 1 and (number.size != number.shape[-1] or number.size != shape_of(lhs)[-1]):
        return None
    number, zero, one = number.reshape(-1), np.zeros(1, np.float32), np.ones(1, np.float32)
    if kind == "multiply":
        return Affine(lhs, number, zero)
    if kind in ("add", "subtract"):
        return Affine(lhs, one, number if kind == "add" else -number)
    return None


class WeightFolder:
    """Writes linear nodes with other weights."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx

    def arrays(self, op: xnnpack.WeightedOp) -> tuple[np.ndarray, np.ndarray] | None:
        """(filter, bias) if they are fp32 constants and no large splats; an absent bias is zero."""
        values = [op.filter] if op.bias is None else [op.filter, op.bias]
        arrays: list[np.ndarray] = []
        for value in values:
            if not isinstance(value.owner, xnnpack.ConstantOp) or element_type(value) != f32:
                return None
            arrays.append(storage_array(value.owner.elements, self.ctx, value.owner))
        if any(is_large_splat(array) for array in arrays):
            return None
        if op.bias is None:
            arrays.append(np.zeros(arrays[0].shape[op.channel_axis], np.float32))
        return arrays[0], arrays[1]

    def rewritten(
        self,
        op: xnnpack.WeightedOp,
        value: SSAValue,
        arrays: Sequence[np.ndarray],
        output: Sequence[float],
        folded: xnnpack.BinaryOp,
        rewriter: PatternRewriter,
    ) -> SSAValue:
        """`op` on `value` with other weights and output bounds, `folded` in them; a bias of zeros is left out."""
        operands = [value, self.constant(op.filter, arrays[0], rewriter)]
        if arrays[1].any():
            operands.append(self.constant(op.filter if op.bias is None else op.bias, arrays[1], rewriter))
        kept: dict[str, Attribute] = {
            name: attribute for name, attribute in op.properties.items() if name not in ("output_min", "output_max")
        }
        node = type(op).create(
            operands=operands, result_types=[op.output.type], properties=kept | bounds(output[0], output[1])
        )
        inherit(node, op, folded)
        rewriter.insert(node)
        return node.results[0]

    def constant(self, like: SSAValue, array: np.ndarray, rewriter: PatternRewriter) -> SSAValue:
        """A constant named after another one."""
        assert isinstance(like.owner, xnnpack.ConstantOp)
        op = constant_like(like.owner, array.astype(np.float32, copy=False), self.ctx)
        rewriter.insert(op)
        return op.output


class FoldBehind(WeightFolder, RewritePattern):
    """affine(move(linear(x))) → move(linear'(x)), if the values in between have no other users."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.BinaryOp, rewriter: PatternRewriter, /) -> None:
        """Fold one binary node into the linear node behind whose results it stands."""
        affine = affine_of(op, self.ctx)
        if affine is None:
            return
        moves: list[Operation] = []
        value = affine.value
        while (
            isinstance(linear := value.owner, Operation)
            and movement_of(linear) is Movement.PERMUTES
            and value.has_one_use()
        ):
            moves.append(linear)
            value = linear.operands[0]
        if not isinstance(linear, xnnpack.WeightedOp) or not value.has_one_use() or (moves and not affine.is_uniform):
            return
        arrays = self.arrays(linear)
        low, high = linear.bounds
        is_bounded = (low, high) != (-np.inf, np.inf)
        if arrays is None or (is_bounded and not (affine.is_uniform and affine.factor[0] > 0)):
            return
        factor, offset = float(affine.factor[0]), float(affine.offset[0])
        output = (max(low * factor + offset, op.bounds[0]), min(high * factor + offset, op.bounds[1]))
        if not is_bounded:
            output = op.bounds
        if not output[0] < output[1]:
            return
        by_channel = [1] * arrays[0].ndim
        by_channel[linear.channel_axis] = -1
        filter_array = arrays[0] * affine.factor.reshape(by_channel if affine.factor.size > 1 else -1)
        bias = arrays[1] * affine.factor + affine.offset
        folded = self.rewritten(linear, linear.input, (filter_array, bias), output, op, rewriter)
        rewriter.replace(op, [], [self.moved(folded, moves, rewriter)])

    def moved(
        self,
        value: SSAValue,
        moves: Sequence[Operation],
        rewriter: PatternRewriter,
    ) -> SSAValue:
        """The moves, last first, applied to another value of the same type."""
        for move in reversed(moves):
            copy = type(move).create(
                operands=[value], result_types=list(move.result_types), properties=dict(move.properties)
            )
            inherit(copy, move)
            rewriter.insert(copy)
            value = copy.results[0]
        return value


class FoldInFront(WeightFolder, RewritePattern):
    """fully_connected(move(affine(x))) → fully_connected'(move(x)), when only such nodes use the affine map."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.BinaryOp, rewriter: PatternRewriter, /) -> None:
        """Fold one binary node into the fully connected nodes that it feeds."""
        affine = affine_of(op, self.ctx)
        if affine is None or op.bounds != (-np.inf, np.inf):
            return
        users = fed_projections(op.output)
        if not users:
            return
        arrays = [pair for user in users if (pair := self.arrays(user)) is not None]
        if len(arrays) < len(users):
            return
        for user, (weight, bias) in zip(users, arrays, strict=True):
            by_feature = weight if user.transpose_weights is None else weight.T
            bias = bias + (by_feature * affine.offset).sum(axis=1, dtype=np.float64)
            by_feature = by_feature * affine.factor
            weight = by_feature if user.transpose_weights is None else by_feature.T
            rewriter.insertion_point = InsertPoint.before(user)
            value = self.rewritten(user, user.input, (weight, bias), user.bounds, op, rewriter)
            rewriter.replace(user, [], [value])
        rewriter.replace(op, [], [affine.value])


def fed_projections(value: SSAValue) -> list[xnnpack.FullyConnectedOp] | None:
    """The fully connected nodes that use `value`, through moves that keep its last dimension; None if others do."""
    found: list[xnnpack.FullyConnectedOp] = []
    for use in value.uses:
        user = use.operation
        if isinstance(user, xnnpack.FullyConnectedOp) and use.index == 0:
            found.append(user)
            continue
        keeps_last = (
            isinstance(user, xnnpack.StaticReshapeOp) and shape_of(user.output)[-1:] == shape_of(value)[-1:]
        ) or (isinstance(user, xnnpack.StaticTransposeOp) and ints(user.perm)[-1] == rank_of(value) - 1)
        if not keeps_last:
            return None
        behind = fed_projections(user.results[0])
        if behind is None:
            return None
        found += behind
    return found
