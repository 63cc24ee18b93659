"""Quantise and dequantise ops that need no node of their own: the rules of their users match through them."""

from __future__ import annotations

from xdsl.ir import Operation

from xir.dialects import edge
from xir.dialects.edge.families import ChooseQparams, Dequantize, Quantize
from xir.transforms.analysis.static_tensor import is_static


def is_looked_through(op: Operation) -> bool:
    """Whether the rules of an op's users match through it, so that it is lowered only if it has other users."""
    if isinstance(op, ChooseQparams):
        return True
    if isinstance(op, Quantize):
        return is_static(op.results[0]) or is_chosen(op)
    return isinstance(op, Dequantize) and is_static(op.results[0])


def is_chosen(op: edge.EdgeOp) -> bool:
    """Whether an op quantises with a scale that is chosen at run time."""
    return any(isinstance(value.owner, ChooseQparams) for value in op.operands[1:])
