"""The operators: their edge ops, the XNNPACK nodes of one, and what they are on kernels."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge
from xir.plugin import EdgeBuilder, EdgeOp, NodeBuilder, Refusal, call, decomposition, register_op, rule, tensor


def same_type(op: SoftclipOp) -> Sequence[Attribute]:
    """The operand's type."""
    return (op.self.type,)


@register_op("softclip::softclip(Tensor self, float limit) -> Tensor", infer=same_type)
class SoftclipOp(EdgeOp):
    """`limit · tanh(self / limit)`: the numbers, bent into (−limit, limit)."""

    self: SSAValue
    limit: float


def number(op: ClippedOp) -> Sequence[Attribute]:
    """A tensor without dimensions."""
    type = op.self.type
    assert isinstance(type, TensorType)
    return (TensorType(type.element_type, []),)


# Nothing makes other ops of it: the kernel is in native/softclip/clipped.cc.
@register_op("softclip::clipped(Tensor self, float limit) -> Tensor", out="softclip::clipped.out", infer=number)
class ClippedOp(EdgeOp):
    """The share of elements beyond the limit."""

    self: SSAValue
    limit: float


NO_LIMIT = Refusal(
    "its limit is {limit:g}",
    "give a limit above zero",
    example=call("edge.softclip.softclip", self=tensor(4), limit=-1),
)


@rule(refuses=(NO_LIMIT,), samples=(call("edge.softclip.softclip", self=tensor(2, 3), limit=1.5),))
def nodes(op: SoftclipOp, b: NodeBuilder) -> SSAValue:
    """Three XNNPACK nodes; one whose limit is no limit stays outside, with the reason."""
    if not op.limit > 0:
        raise NO_LIMIT(limit=op.limit)
    bent = b.unary("tanh", b.binary("multiply", op.self, b.scalar(1 / op.limit, op.self)))
    return b.binary("multiply", bent, b.scalar(op.limit, op.self))


@decomposition
def kernels(op: SoftclipOp, b: EdgeBuilder) -> SSAValue:
    """`limit * tanh(self / limit)`"""
    scaled = b.call(edge.DivScalarOp, self=op.self, other=op.limit)
    return b.call(edge.MulScalarOp, self=b.call(edge.TanhOp, self=scaled), other=op.limit)
