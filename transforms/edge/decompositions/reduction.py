"""Reductions and order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, in_opmath


@decomposition
def sum_of_all(op: edge.SumOp, b: EdgeBuilder) -> SSAValue:
    """`sum(self, dim=None)`"""
    return b.call(edge.SumDimIntListOp, self=op.self, dim=None, dtype=op.dtype)


@decomposition
def sum_of_a_number(op: edge.SumDimIntListOp, b: EdgeBuilder) -> SSAValue | None:
    """`sum(self, dim=None)`, if `self` has no dimension: stock ExecuTorch's kernel aborts as it asks for its size."""
    if shape_of(op.self) or not op.dim:
        return None
    return b.call(edge.SumDimIntListOp, self=op.self, dim=None, dtype=op.dtype)


@decomposition
def running_sum_of_a_number(op: edge.CumsumOp, b: EdgeBuilder) -> SSAValue | None:
    """`self`, if it has no dimension, which stock ExecuTorch's kernel refuses."""
    return None if shape_of(op.self) else b.convert(op.self, op.results[0])


@decomposition
def all_of(op: edge.AllOp | edge.AllDimOp, b: EdgeBuilder) -> SSAValue:
    """`logical_not(any(logical_not(self)))`"""
    zeros = b.call(edge.LogicalNotOp, self=op.self)
    if isinstance(op, edge.AllDimOp):
        found = b.call(edge.AnyDimOp, self=zeros, dim=op.dim, keepdim=op.keepdim)
    else:
        found = b.call(edge.AnyOp, self=zeros)
    return b.convert(b.call(edge.LogicalNotOp, self=found), op.results[0])


@decomposition
@in_opmath
def vector_norm(op: edge.LinalgVectorNormOp, b: EdgeBuilder) -> SSAValue:
    """`sqrt(sum(square(self)))`; by the order also `sum(abs)`, `amax(abs)`, `amin(abs)`, `sum(self != 0)`, or
    `pow(sum(pow(abs, ord)), 1 / ord)`"""
    value, order = b.convert(op.self, op.results[0]), op.ord

    def total(numbers: SSAValue) -> SSAValue:
        return b.call(edge.SumDimIntListOp, self=numbers, dim=op.dim, keepdim=op.keepdim)

    if order == 2:
        return b.call(edge.SqrtOp, self=total(b.call(edge.SquareOp, self=value)))
    if order == 0:
        return total(b.convert(b.call(edge.NeScalarOp, self=value, other=0), value))
    magnitude = b.call(edge.AbsOp, self=value)
    if math.isinf(order):
        extreme = edge.AmaxOp if order > 0 else edge.AminOp
        return b.call(extreme, self=magnitude, dim=op.dim or (), keepdim=op.keepdim)
    if order == 1:
        return total(magnitude)
    powers = b.call(edge.PowTensorScalarOp, self=magnitude, exponent=order)
    return b.call(edge.PowTensorScalarOp, self=total(powers), exponent=1 / order)


@decomposition
def sort(op: edge.SortOp, b: EdgeBuilder) -> Sequence[SSAValue]:
    """`topk(self, size of the dimension, …)`"""
    value, dim = op.self, op.dim
    if not shape_of(value):
        return value, b.call(edge.FullOp, size=(), fill_value=0)
    return b.calls(edge.TopkOp, self=value, k=b.size(value, dim), dim=dim, largest=op.descending)
