"""Layouts of values, and what nodes do in them.

A layout is a permutation q: dimension i of the physical tensor is dimension q[i] of the value as the rules see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, rank_of, shape_of, tensor_type, u32s
from xir.dialects.xnnpack.interfaces import AnyLayout

Layout = tuple[int, ...]


@cache
def identity(rank: int) -> Layout:
    """The layout of a value as it is."""
    return tuple(range(rank))


@lru_cache(maxsize=65536)
def compose(p: Layout, q: Layout) -> Layout:
    """The layout of T_q(T_p(x)): first p, then q."""
    return tuple(p[i] for i in q)


@cache
def inverse(p: Layout) -> Layout:
    """The layout that undoes p."""
    result = [0] * len(p)
    for i, axis in enumerate(p):
        result[axis] = i
    return tuple(result)


@dataclass(frozen=True)
class Traced:
    """A value seen through the transposes that make it: it is `root` in layout `perm`."""

    root: SSAValue
    perm: Layout

    @staticmethod
    def itself(value: SSAValue) -> Traced:
        """A value that no transpose makes."""
        return Traced(value, identity(rank_of(value)))


def traced_values(block: Block) -> dict[SSAValue, Traced]:
    """Each value of a block through the transposes that make it."""
    traced: dict[SSAValue, Traced] = {argument: Traced.itself(argument) for argument in block.args}
    for op in block.ops:
        for value in op.results:
            if isinstance(op, xnnpack.StaticTransposeOp):
                before = traced[op.input]
                traced[value] = Traced(before.root, compose(before.perm, ints(op.perm)))
            else:
                traced[value] = Traced.itself(value)
    return traced


def transposes_behind(value: SSAValue) -> list[Operation]:
    """The transposes that make a value, the last first."""
    found: list[Operation] = []
    while isinstance(value.owner, xnnpack.StaticTransposeOp):
        found.append(value.owner)
        value = value.owner.input
    return found


def is_flexible(op: Operation) -> bool:
    """Whether the op may run in any layout: all of its operands have the result's rank, or are constants."""
    if not op.has_trait(AnyLayout):
        return False
    rank = rank_of(op.results[0])
    return all(rank_of(v) == rank or isinstance(v.owner, xnnpack.ConstantOp) for v in op.operands)


def relaid(op: Operation, layout: Layout) -> Operation:
    """A copy of a flexible op whose operands are in `layout` already."""
    properties, described = dict(op.properties), op.get_trait(AnyLayout)
    assert described is not None
    for name in described.by_dimension:
        values = properties[name]
        assert isinstance(values, DenseArrayBase)
        properties[name] = u32s([ints(values)[axis] for axis in layout])
    if described.dimension is not None:
        dimension = properties[described.dimension]
        assert isinstance(dimension, IntegerAttr)
        properties[described.dimension] = IntegerAttr(layout.index(dimension.value.data), i32)
    result = op.results[0]
    result_type = tensor_type(element_type(result), [shape_of(result)[axis] for axis in layout])
    return type(op).create(operands=list(op.operands), result_types=[result_type], properties=properties)
