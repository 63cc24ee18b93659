"""Quantise and dequantise ops that need no node of their own: the rules of their users match through them."""

from __future__ import annotations

from xdsl.ir import Operation

from xir.dialects import edge
from xir.transforms.analysis.quantization_parameters import CHOOSE, DEQUANTISE, QUANTISE
from xir.transforms.analysis.static_tensor import is_static


def is_looked_through(op: Operation) -> bool:
    """Whether the rules of an op's users match through it, so that it is lowered only if it has other users."""
    if not isinstance(op, edge.EdgeOp) or op.name not in CHOOSE | QUANTISE | DEQUANTISE:
        return False
    if op.name in CHOOSE:
        return True
    return is_static(op.results[0]) or (op.name in QUANTISE and is_chosen(op))


def is_chosen(op: edge.EdgeOp) -> bool:
    """Whether an op quantises with a scale that is chosen at run time."""
    return any(isinstance(value.owner, edge.EdgeOp) and value.owner.name in CHOOSE for value in op.operands[1:])
