"""Chains of elementwise nodes that XNNPACK makes one look-up in 256 entries of.

A chain starts at a node that reads 8-bit numbers and ends at one that writes them. Its nodes have one operand, or a
number as the other one, or an operand that the chain has seen before; each value but the last has one reader. XNNPACK
runs the chain on all 256 integers when it makes a runtime. Source: `xnn_subgraph_fuse_unary_quantized_into_lut` of
`src/subgraph.c` at commit 92a7ad501b.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Block, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import Elementwise

MAX_NODES = 10
"""XNN_MAX_UNARY_FUSION_NODES."""


def tables(block: Block) -> list[list[xnnpack.NodeOp]]:
    """The chains of a subgraph, as if each reader of a dequantised value had a conversion of its own.

    `isolate-tables` gives it one.
    """
    found: list[list[xnnpack.NodeOp]] = []
    seen: set[Operation] = set()
    for op in block.ops:
        if op in seen or not is_start(op):
            continue
        readers = [use.operation for use in op.results[0].uses]
        if len(readers) > 1 and not is_dequantise(op):
            continue
        for reader in readers:
            if chain := table_through(op, reader):
                found.append(chain)
                seen.update(chain[1:])
    return found


def table_through(start: Operation, reader: Operation) -> list[xnnpack.NodeOp]:
    """The chain that goes from `start` to its reader `reader`, as if it had no other; empty if there is none."""
    assert isinstance(start, xnnpack.NodeOp)
    chain, values, node = [start], {*start.operands, *start.results}, reader
    while len(chain) < MAX_NODES and is_unary(node, values):
        assert isinstance(node, xnnpack.NodeOp)
        chain.append(node)
        values |= {*node.operands, *node.results}
        if not node.results[0].has_one_use():
            break
        node = next(iter(node.results[0].uses)).operation
    while len(chain) > 1 and not is_8_bit(chain[-1].results[0]):
        chain.pop()
    return chain if len(chain) > 1 else []


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


def is_dequantise(op: Operation) -> bool:
    """Whether a node makes fp32 numbers of 8-bit ones with a known scale."""
    return isinstance(op, xnnpack.ConvertOp) and is_8_bit(op.input) and isinstance(element_type(op.output), Float32Type)


def is_8_bit(value: SSAValue) -> bool:
    """Whether a value has 8-bit integers with a known scale."""
    element = element_type(value)
    return isinstance(element, UniformType) and element.storage.width.data == 8
