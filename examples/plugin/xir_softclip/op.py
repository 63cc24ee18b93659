"""The operators: their edge ops, the XNNPACK nodes of one, and what they are on kernels."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from xir.plugin import (
    EdgeBuilder,
    EdgeOp,
    NodeBuilder,
    Refusal,
    call,
    decomposition,
    operand,
    register_row,
    row,
    rule,
    tensor,
)


def same_type(op: EdgeOp) -> Sequence[Attribute]:
    """The operand's type."""
    return (op.operands[0].type,)


SOFTCLIP = register_row(
    row(
        "softclip::softclip(Tensor self, float limit) -> Tensor",
        "`limit · tanh(self / limit)`: the numbers, bent into (−limit, limit).",
        infer=same_type,
    )
)


def number(op: EdgeOp) -> Sequence[Attribute]:
    """A tensor without dimensions."""
    type = op.operands[0].type
    assert isinstance(type, TensorType)
    return (TensorType(type.element_type, []),)


# Nothing makes other ops of it: the kernel is in native/softclip/clipped.cc.
CLIPPED = register_row(
    row(
        "softclip::clipped(Tensor self, float limit) -> Tensor",
        "The share of elements beyond the limit.",
        out="softclip::clipped.out",
        infer=number,
    )
)


NO_LIMIT = Refusal(
    "its limit is {limit:g}",
    "give a limit above zero",
    example=call("edge.softclip.softclip", self=tensor(4), limit=-1),
)


@rule("edge.softclip.softclip", refuses=(NO_LIMIT,))
def nodes(op: EdgeOp, b: NodeBuilder) -> SSAValue:
    """Three XNNPACK nodes; one whose limit is no limit stays outside, with the reason."""
    limit = op.value("limit")
    if not limit > 0:
        raise NO_LIMIT(limit=limit)
    value = operand(op, "self")
    bent = b.unary("tanh", b.binary("multiply", value, b.scalar(1 / limit, value)))
    return b.binary("multiply", bent, b.scalar(limit, value))


@decomposition("edge.softclip.softclip")
def kernels(op: EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`limit * tanh(self / limit)`"""
    limit = op.value("limit")
    scaled = b.call("div.Scalar", self=op.required("self"), other=limit)
    return b.call("mul.Scalar", self=b.call("tanh", self=scaled), other=limit)
