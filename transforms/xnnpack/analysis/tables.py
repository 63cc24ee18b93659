"""Chains of elementwise nodes that XNNPACK makes one look-up in 256 entries of.

A chain starts at a node that reads 8-bit numbers and ends at one that writes them. Its nodes have one operand, or a
number as the other one, or an operand that the chain has seen before; each value but the last has one reader. XNNPACK
runs the chain on all 256 integers when it makes a runtime. Source: `xnn_subgraph_fuse_unary_quantized_into_lut` of
`src/subgraph.c` at commit 92a7ad501b.

It takes up to ten nodes, but of ten it writes behind the end of its array of them (`rewrite_dequant_bmm_at` wants room
for one more), which no process survives. So no chain may have ten: `isolate-tables` cuts longer ones.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Block, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import Elementwise
from xir.ir.walking import ops_in

MAX_NODES = 9
"""One less than XNN_MAX_UNARY_FUSION_NODES."""


def tables(block: Block) -> list[list[xnnpack.NodeOp]]:
    """The chains of a subgraph, as if each reader of a dequantised value had a conversion of its own.

    `isolate-tables` gives it one.
    """
    found: list[list[xnnpack.NodeOp]] = []
    seen: set[Operation] = set()
    for op in block.ops:
        if op in seen or not is_start(op):
            continue
        readers = readers_of(op)
        if len(readers) > 1 and not is_dequantize(op):
            continue
        for reader in readers:
            if chain := table_through(op, reader):
                found.append(chain)
                seen.update(chain[1:])
    return found


def table_through(start: Operation, reader: Operation) -> list[xnnpack.NodeOp]:
    """The chain that goes from `start` to its reader `reader`, as if it had no other; empty if there is none."""
    chain = first_part(functions_through(start, reader))
    while len(chain) > 1 and not is_8_bit(chain[-1].results[0]):
        chain.pop()
    return chain if len(chain) > 1 else []


def overlong_part(start: Operation, reader: Operation) -> list[xnnpack.NodeOp]:
    """The nodes in front of where a chain has to be cut, up to 8-bit numbers if that can be; empty if it may stay."""
    chain = functions_through(start, reader)
    part = first_part(chain)
    if not any(is_8_bit(op.results[0]) for op in chain[len(part) :]):
        return []
    return table_through(start, reader) or part


def first_part(chain: list[xnnpack.NodeOp]) -> list[xnnpack.NodeOp]:
    """The nodes at a chain's start that count `MAX_NODES` at most: bounds on a result are a node of their own."""
    part, nodes = [], 0
    for op in chain:
        nodes += 2 if isinstance(op, xnnpack.BinaryOp) and op.is_bounded else 1
        if nodes > MAX_NODES:
            break
        part.append(op)
    return part


def functions_through(start: Operation, reader: Operation) -> list[xnnpack.NodeOp]:
    """`start`, `reader` and what follows them one by one, as long as each is a function of one number."""
    assert isinstance(start, xnnpack.NodeOp)
    chain, values, node = [start], {*start.operands, *start.results}, reader
    while is_unary(node, values):
        assert isinstance(node, xnnpack.NodeOp)
        chain.append(node)
        values |= {*node.operands, *node.results}
        readers = readers_of(node)
        if len(readers) != 1:
            break
        (node,) = readers
    return chain


def readers_of(node: Operation) -> list[Operation]:
    """The ops that read a node's result; one of which both operands are the result counts once, as for XNNPACK."""
    return list(dict.fromkeys(use.operation for use in node.results[0].uses))


def is_start(op: Operation) -> bool:
    """Whether a chain can start at a node."""
    if not is_unary(op, set()):
        return False
    return any(is_8_bit(value) for value in op.operands if not isinstance(value.owner, xnnpack.ConstantOp))


def is_unary(op: Operation, values: set[SSAValue]) -> bool:
    """Whether a node computes a function of one number, or of one of `values`, which are such functions themselves."""
    if not op.has_trait(Elementwise):
        return False
    if len(op.operands) == 1:
        return not isinstance(op.operands[0].owner, xnnpack.ConstantOp)
    if not isinstance(op, xnnpack.BinaryOp):
        return False
    static = [isinstance(value.owner, xnnpack.ConstantOp) for value in (op.lhs, op.rhs)]
    for number, other in ((0, 1), (1, 0)):
        if static[number] and not static[other] and prod(shape_of(op.operands[number])) == 1:
            return True
    return values.issuperset((op.lhs, op.rhs))


def is_dequantize(op: Operation) -> bool:
    """Whether a node makes fp32 numbers of 8-bit ones with a known scale."""
    return isinstance(op, xnnpack.ConvertOp) and is_8_bit(op.input) and isinstance(element_type(op.output), Float32Type)


def has_8_bit(subgraph: xnnpack.SubgraphOp) -> bool:
    """Whether any value of a subgraph has 8-bit integers with a known scale: without one there is no chain."""
    block = subgraph.body.block
    by_type = {id(value.type): value for op in ops_in(subgraph, Operation) for value in op.results}
    return any(map(is_8_bit, (*block.args, *by_type.values())))


def is_8_bit(value: SSAValue) -> bool:
    """Whether a value has 8-bit integers with a known scale."""
    element = element_type(value)
    return isinstance(element, UniformType) and element.storage.width.data == 8
