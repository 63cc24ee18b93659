"""Matrix products and softmax."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import rank_of, shape_of
from xir.transforms.legalizations.elementwise import scaled
from xir.transforms.legalizations.rule import NodeBuilder, RefusalError, operand, rule, static_name


@rule("edge.linear")
def linear(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """input [..., I] times weight [O, I] transposed, plus bias [O]."""
    weight = operand(op, "weight")
    return fully_connected(op, b, operand(op, "input"), weight, op.tensor("bias"), transpose=False)


@rule("edge.addmm")
def addmm(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """beta·self + alpha·(mat1 × mat2): one node when `self` is a static bias by column."""
    if op.value("beta") != 1 or op.value("alpha") != 1:
        product = b.node(
            xnnpack.BatchMatrixMultiplyOp, [operand(op, "mat1"), operand(op, "mat2")], shape_of(op.results[0])
        )
        return b.binary("add", scaled(b, product, op.value("alpha")), scaled(b, operand(op, "self"), op.value("beta")))
    return fully_connected(op, b, operand(op, "mat1"), operand(op, "mat2"), operand(op, "self"), transpose=True)


@rule("edge.mm")
def mm(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self × mat2: a fully connected node when `mat2` is static."""
    lhs, rhs = operand(op, "self"), operand(op, "mat2")
    if isinstance(rhs.owner, edge.ConstantOp):
        return fully_connected(op, b, lhs, rhs, None, transpose=True)
    return b.node(xnnpack.BatchMatrixMultiplyOp, [lhs, rhs], shape_of(op.results[0]))


@rule("edge.bmm")
def bmm(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self × mat2, a batch of matrices each."""
    return b.node(xnnpack.BatchMatrixMultiplyOp, [operand(op, "self"), operand(op, "mat2")], shape_of(op.results[0]))


def fully_connected(
    op: edge.EdgeOp, b: NodeBuilder, value: SSAValue, weight: SSAValue, bias: SSAValue | None, *, transpose: bool
) -> SSAValue:
    """A fully connected node; `transpose` says that `weight` is [I, O]."""
    operands = [value, b.constant(b.weight(weight, "weight"), static_name(weight))]
    if bias is not None:
        if rank_of(bias) != 1:
            raise RefusalError(f"its bias has rank {rank_of(bias)}; XNNPACK adds one number to each column")
        operands.append(b.constant(b.weight(bias, "bias"), static_name(bias)))
    properties: dict[str, Attribute] = {"transpose_weights": UnitAttr()} if transpose else {}
    return b.node(xnnpack.FullyConnectedOp, operands, shape_of(op.results[0]), properties)


@rule("edge._softmax", "edge.softmax.int")
def softmax(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Softmax over `dim`, which is moved to the end where it is not."""
    value = operand(op, "self")
    rank, dim = rank_of(value), op.value("dim") % max(rank_of(value), 1)
    perm = (*(d for d in range(rank) if d != dim), dim)
    moved = b.transpose(value, perm)
    result = b.node(xnnpack.SoftmaxOp, [moved], shape_of(moved))
    return b.transpose(result, [perm.index(d) for d in range(rank)])
