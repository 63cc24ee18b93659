"""Simplifications of xnnpack ops."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import ints, shape_of, u32s


class DropIdentityTranspose(RewritePattern):
    """transpose(x) by the identity → x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.StaticTransposeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one transpose."""
        if list(ints(op.perm)) == list(range(len(op.perm))):
            replace_inside(op, op.input, rewriter)


class ComposeTransposes(RewritePattern):
    """transpose(transpose(x, p), q) → transpose(x, p∘q)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.StaticTransposeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the second of two transposes."""
        inner = op.input.owner
        if isinstance(inner, xnnpack.StaticTransposeOp):
            perm = [ints(inner.perm)[axis] for axis in ints(op.perm)]
            rewriter.replace(op, moved(xnnpack.StaticTransposeOp, inner.input, op.output, "perm", perm))


class DropIdentityReshape(RewritePattern):
    """reshape(x) to the shape it has → x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.StaticReshapeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one reshape."""
        if op.input.type == op.output.type and DYNAMIC_INDEX not in shape_of(op.input):
            replace_inside(op, op.input, rewriter)


class ComposeReshapes(RewritePattern):
    """reshape(reshape(x)) → reshape(x)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.StaticReshapeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the second of two reshapes."""
        inner = op.input.owner
        if isinstance(inner, xnnpack.StaticReshapeOp):
            shape = ints(op.new_shape)
            rewriter.replace(op, moved(xnnpack.StaticReshapeOp, inner.input, op.output, "new_shape", shape))


class DropUnboundedClamp(RewritePattern):
    """clamp(x) without bounds → x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.ClampOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one clamp."""
        if op.bounds == (float("-inf"), float("inf")) and op.input.type == op.output.type:
            replace_inside(op, op.input, rewriter)


class DropIdentityConvert(RewritePattern):
    """convert(x) to the type it has → x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.ConvertOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one conversion."""
        if op.input.type == op.output.type:
            replace_inside(op, op.input, rewriter)


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
