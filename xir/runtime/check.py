"""What XNNPACK says of a subgraph that is not written yet: the compiler's part of "what is partitioned loads"."""

from __future__ import annotations

from dataclasses import dataclass

from xir.dialects.xnnpack import NodeOp, SubgraphOp
from xir.emitter.xnn_writer import write_unweighted
from xir.ir.context import XirContext
from xir.runtime import _native
from xir.runtime.library import library_paths


@dataclass(frozen=True)
class Refusal:
    """Why XNNPACK does not run a subgraph."""

    node: NodeOp | None
    """The node at fault, where XNNPACK says which one it is."""
    reason: str
    """A sentence, XNNPACK's status in it."""


def check_subgraph(subgraph: SubgraphOp, ctx: XirContext) -> Refusal | None:
    """Define the nodes in XNNPACK, create their operators and plan memory, without reading or packing a weight.

    None where XNNPACK does all of it. XirRuntimeError where there is no XNNPACK to ask; DiagnosticError for what a
    delegate cannot hold.
    """
    graph = write_unweighted(subgraph, ctx)
    refusal = _native.check_graph(
        graph.flatbuffer,
        constant_bytes=graph.constant_bytes,
        named_data={key: b"".join(map(bytes, data.chunks())) for key, data in graph.named_data.items()},
        library_paths=library_paths(),
    )
    if refusal is None:
        return None
    index, reason = refusal
    nodes = [op for op in subgraph.body.block.ops if isinstance(op, NodeOp)]
    return Refusal(None if index is None else nodes[index], reason)
