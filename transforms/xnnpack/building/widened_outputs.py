"""Halves that a graph would yield in fp32, and XNNPACK take for halves."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from xir.dialects import xnnpack
from xir.dialects.delegate import GraphOp
from xir.transforms.analysis.refusal import Refusal, RefusalError

MISTAKEN = Refusal("XNNPACK would let the other nodes that read its operand read its fp32 result in that place")


def refused_widenings(graphs: Sequence[GraphOp]) -> dict[Operation, RefusalError]:
    """The conversions to fp32 that graphs yield and that XNNPACK mistakes (`ConvertOp.is_mistaken_as_output`)."""
    yielded = [value.owner for graph in graphs for value in graph.block_outputs]
    return {op: MISTAKEN() for op in yielded if isinstance(op, xnnpack.ConvertOp) and op.is_mistaken_as_output}
