"""Rules, decompositions and an op that are wrong: type checkers know the arguments of edge ops.

A comment has pyright ignore what it finds in its line; where it finds nothing, the comment is an error of `make lint`.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.plugin import EdgeBuilder, EdgeOp, NodeBuilder, decomposition, register_op, rule


@rule()
def right(op: edge.SoftmaxOp | edge.LogSoftmaxOp, b: NodeBuilder) -> SSAValue:
    return b.transpose(op.self, [op.dim, 0])


@rule()
def misspelt(op: edge.SoftmaxOp, b: NodeBuilder) -> SSAValue:
    return b.transpose(op.self, [op.axis, 0])  # pyright: ignore[reportAttributeAccessIssue]


@rule()
def argument_of_one_of_two(op: edge.MeanOp | edge.MeanDimOp, b: NodeBuilder) -> SSAValue:
    dims = op.dim if isinstance(op, edge.MeanDimOp) else None
    return b.transpose(op.self, dims or op.dim)  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]


@rule()
def of_another_type(op: edge.GeluOp, b: NodeBuilder) -> SSAValue:
    return b.scalar(op.approximate, op.self)  # pyright: ignore[reportArgumentType]


@rule()
def missing_check_for_none(op: edge.LinearOp, b: NodeBuilder) -> SSAValue:
    return b.binary("add", op.input, op.bias)  # pyright: ignore[reportArgumentType]


@rule()
def size_that_the_program_computes(op: edge.SelectIntOp, b: NodeBuilder) -> SSAValue:
    first = op.index + 1  # pyright: ignore[reportOperatorIssue]
    return b.scalar(first + b.integer(op.index), op.self)


@rule()  # pyright: ignore[reportArgumentType]
def of_no_op(op: SSAValue, b: NodeBuilder) -> SSAValue:
    return b.dequantize(op)


@decomposition
def built_wrong(op: edge.AddTensorOp, b: EdgeBuilder) -> SSAValue:
    b.call(edge.MulTensorOp, self=op.self, other=op.other)
    b.call(edge.MulTensorOp, self=op.self, other=2)  # pyright: ignore[reportArgumentType]
    b.call(edge.MulTensorOp, self=op.self, others=op.other)  # pyright: ignore[reportCallIssue]
    b.call(edge.MulTensorOp, self=op.self)  # pyright: ignore[reportCallIssue]
    b.call(edge.SoftmaxOp, self=op.self, dim=[0], half_to_float=False)  # pyright: ignore[reportArgumentType]
    return edge.AddTensorOp(self=op.self, other=None).results[0]  # pyright: ignore[reportArgumentType]


@decomposition
def written_to(op: edge.AddTensorOp, b: EdgeBuilder) -> SSAValue:
    op.alpha = 2  # pyright: ignore[reportAttributeAccessIssue]
    return op.self


@register_op("own::bent(Tensor self, float limit, Tensor? mask=None) -> Tensor")
class BentOp(EdgeOp):
    self: SSAValue
    limit: float
    mask: SSAValue | None = None


@decomposition
def of_a_plugin(op: BentOp, b: EdgeBuilder) -> SSAValue:
    bent = BentOp(self=op.self, limit=op.limit)
    b.call(edge.AddTensorOp, self=bent.results[0], other=op.mask)  # pyright: ignore[reportArgumentType]
    return b.call(BentOp, self=op.self, limits=op.limit)  # pyright: ignore[reportCallIssue]
