"""The casts that rules leave where integers of edge ops meet quantised numbers of xnnpack ops."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, UnrealizedConversionCastOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from xir.dialects import xnnpack


def resolve_casts(body: Block) -> None:
    """Give values their quantised types, so that no casts are left in a subgraph's block.

    The cast of an argument or a constant becomes its type, and two casts in a row cancel. What is left are casts of
    yielded values to integers, and the subgraph's results are these integers.
    """
    casts = [op for op in body.ops if isinstance(op, UnrealizedConversionCastOp)]
    for op in casts:
        op.results[0].replace_all_uses_with(uncast(op.inputs[0], op.results[0]))
    for op in reversed(casts):
        op.detach()
        op.erase()


def uncast(value: SSAValue, wanted: SSAValue) -> SSAValue:
    """What a cast of `value` stands for."""
    owner = value.owner
    if isinstance(owner, UnrealizedConversionCastOp):
        return owner.inputs[0]
    if isinstance(owner, xnnpack.ConstantOp):
        assert isinstance(wanted.type, TensorType)
        constant = xnnpack.ConstantOp(owner.elements, wanted.type)
        constant.location = owner.location
        block = owner.parent
        assert block is not None
        block.insert_op_after(constant, owner)
        return constant.output
    if isinstance(value, BlockArgument) and value.type != wanted.type:
        return Rewriter.replace_value_with_new_type(value, wanted.type)
    return value
