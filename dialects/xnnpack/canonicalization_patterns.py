"""Simplifications of xnnpack ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, shape_of, u32s
from xir.ir.provenance import inherit
from xir.ir.rewriting import op_rewrite_pattern

MoveT = TypeVar("MoveT", xnnpack.StaticTransposeOp, xnnpack.StaticReshapeOp)


class DropIdentityTranspose(RewritePattern):
    """transpose(x) by the identity → x."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.StaticTransposeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one transpose."""
        if list(ints(op.perm)) == list(range(len(op.perm))):
            replace_inside(op, op.input, rewriter)


class ComposeTransposes(RewritePattern):
    """transpose(transpose(x, p), q) → transpose(x, p∘q)."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.StaticTransposeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the second of two transposes."""
        inner = op.input.owner
        if isinstance(inner, xnnpack.StaticTransposeOp):
            perm = [ints(inner.perm)[axis] for axis in ints(op.perm)]
            made = moved(xnnpack.StaticTransposeOp, inner.input, op.output, "perm", perm)
            inherit(made, inner, op)
            rewriter.replace(op, made)


class DropIdentityReshape(RewritePattern):
    """reshape(x) to the shape it has → x."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.StaticReshapeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one reshape."""
        if op.input.type == op.output.type and DYNAMIC_INDEX not in shape_of(op.input):
            replace_inside(op, op.input, rewriter)


class ComposeReshapes(RewritePattern):
    """reshape(reshape(x)) → reshape(x)."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.StaticReshapeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the second of two reshapes."""
        inner = op.input.owner
        if isinstance(inner, xnnpack.StaticReshapeOp):
            shape = ints(op.new_shape)
            made = moved(xnnpack.StaticReshapeOp, inner.input, op.output, "new_shape", shape)
            inherit(made, inner, op)
            rewriter.replace(op, made)


class DropUnboundedClamp(RewritePattern):
    """clamp(x) without bounds → x."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.ClampOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one clamp."""
        if not op.is_bounded and op.input.type == op.output.type:
            replace_inside(op, op.input, rewriter)


class DropIdentityConvert(RewritePattern):
    """convert(x) to the type it has → x."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.ConvertOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one conversion."""
        if op.input.type == op.output.type:
            replace_inside(op, op.input, rewriter)


class TransposeByFlag(RewritePattern):
    """x · transpose(y) → x · y with `transpose_b` the other way, where y's rows come to be whole: the node packs its
    right matrices anyway, rows of them in long runs. The same through a reshape of the dimensions before.
    """

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.BatchMatrixMultiplyOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one product."""
        reshape = op.rhs.owner if isinstance(op.rhs.owner, xnnpack.StaticReshapeOp) else None
        value = op.rhs if reshape is None else reshape.input
        transpose = value.owner
        if not isinstance(transpose, xnnpack.StaticTransposeOp) or not (value.has_one_use() and op.rhs.has_one_use()):
            return
        shape, perm, new_shape = shape_of(value), ints(transpose.perm), shape_of(op.rhs)
        keeps_matrices = reshape is None or (shape[-2:] == new_shape[-2:] and DYNAMIC_INDEX not in new_shape)
        if len(perm) < 2 or perm[-2] != len(perm) - 1 or not keeps_matrices:
            return
        rhs = swapped(xnnpack.StaticTransposeOp, transpose.input, value, "perm", perm)
        ops: list[Operation] = [rhs]
        if reshape is not None:
            ops.append(swapped(xnnpack.StaticReshapeOp, rhs.output, op.rhs, "new_shape", new_shape))
        properties = {name: value for name, value in op.properties.items() if name != "transpose_b"}
        if op.transpose_b is None:
            properties["transpose_b"] = UnitAttr()
        node = xnnpack.BatchMatrixMultiplyOp.create(
            operands=[op.lhs, ops[-1].results[0]], result_types=op.result_types, properties=properties
        )
        rewriter.replace(op, [*ops, node])


def swapped(op_class: type[MoveT], value: SSAValue, result: SSAValue, name: str, numbers: Sequence[int]) -> MoveT:
    """An op that moves `value` into the type of `result` with the last two dimensions in the other order."""
    *outer, rows, columns = shape_of(result)
    *first, last_but_one, last = numbers
    return op_class.create(
        operands=[value],
        result_types=[TensorType(element_type(result), (*outer, columns, rows))],
        properties={name: u32s([*first, last, last_but_one])},
    )


def moved(
    op_class: type[xnnpack.NodeOp], value: SSAValue, result: SSAValue, name: str, numbers: list[int] | tuple[int, ...]
) -> xnnpack.NodeOp:
    """An op that moves `value` into the type of `result`."""
    return op_class.create(operands=[value], result_types=[result.type], properties={name: u32s(numbers)})


def replace_inside(op: xnnpack.NodeOp, value: SSAValue, rewriter: PatternRewriter) -> None:
    """Replace an op by a value, unless it is what makes the value an output of its own (see `xnnpack.yield`)."""
    result = op.results[0]
    yielded = any(isinstance(use.operation, xnnpack.YieldOp) for use in result.uses)
    shared = not isinstance(value.owner, xnnpack.NodeOp) or any(
        isinstance(use.operation, xnnpack.YieldOp) for use in value.uses
    )
    if not (yielded and shared):
        rewriter.replace(op, [], [value])
