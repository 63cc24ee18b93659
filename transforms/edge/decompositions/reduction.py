"""Reductions and order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition


@decomposition("edge.sum")
def sum_of_all(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`sum(self, dim=None)`"""
    return b.call("sum.dim_IntList", self=op.required("self"), dim=None, dtype=op.value("dtype"))


@decomposition("edge.all", "edge.all.dim")
def all_of(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`logical_not(any(logical_not(self)))`"""
    overload = f"any.{op.schema.overload}" if op.schema.overload else "any"
    where = {name: op.value(name) for name in op.schema.values}
    zeros = b.call("logical_not", self=op.required("self"))
    none = b.call("logical_not", self=b.call(overload, self=zeros, **where))
    return b.convert(none, op.results[0])


@decomposition("edge.linalg_vector_norm")
def vector_norm(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`sqrt(sum(self * self))`; by the order also `sum(abs)`, `amax(abs)`, `amin(abs)`, `sum(self != 0)`, or
    `pow(sum(pow(abs, ord)), 1 / ord)`"""
    value, order = b.convert(op.required("self"), op.results[0]), op.value("ord")
    over: dict[str, Any] = {"dim": op.value("dim"), "keepdim": op.value("keepdim")}
    if order == 2:
        return b.call(
            "sqrt", self=b.call("sum.dim_IntList", self=b.call("mul.Tensor", self=value, other=value), **over)
        )
    if order == 0:
        different = b.convert(b.call("ne.Scalar", self=value, other=0), value)
        return b.call("sum.dim_IntList", self=different, **over)
    magnitude = b.call("abs", self=value)
    if math.isinf(order):
        over["dim"] = over["dim"] or ()
        return b.call("amax" if order > 0 else "amin", self=magnitude, **over)
    if order == 1:
        return b.call("sum.dim_IntList", self=magnitude, **over)
    powers = b.call("pow.Tensor_Scalar", self=magnitude, exponent=order)
    return b.call("pow.Tensor_Scalar", self=b.call("sum.dim_IntList", self=powers, **over), exponent=1 / order)


@decomposition("edge.sort")
def sort(op: edge.EdgeOp, b: EdgeBuilder) -> Sequence[SSAValue]:
    """`topk(self, size of the dimension, …)`"""
    value, dim = op.required("self"), op.value("dim")
    if not shape_of(value):
        return value, b.call("full", size=(), fill_value=0)
    return b.calls("topk", self=value, k=b.size(value, dim), dim=dim, largest=op.value("descending"))
