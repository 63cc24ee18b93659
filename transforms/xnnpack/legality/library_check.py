"""What XNNPACK says of a subgraph that is not written yet: the compiler's part of "what is partitioned loads"."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Region

from xir.dialects.xnnpack import NodeOp, SubgraphOp, YieldOp
from xir.emitter.xnnpack.writer import write_unweighted
from xir.ir.context import XirContext
from xir.runtime import _native
from xir.runtime.library import xnnpack_paths


@dataclass(frozen=True)
class LibraryRefusal:
    """Why XNNPACK does not run a subgraph."""

    node: NodeOp | None
    """The node at fault: XNNPACK says which one where it refuses the definition; else it is the last node of the
    shortest beginning of the subgraph that XNNPACK refuses. None where there is no node to blame."""
    reason: str
    """A sentence, XNNPACK's status in it."""


def check_subgraph(subgraph: SubgraphOp, ctx: XirContext) -> LibraryRefusal | None:
    """Define the nodes in XNNPACK, create their operators and plan memory, without reading or packing a weight.

    None where XNNPACK does all of it. XirRuntimeError where there is no XNNPACK to ask; DiagnosticError for what a
    delegate cannot hold, such as a dynamic shape.
    """
    refusal = _check(subgraph, ctx)
    if refusal is None or refusal.node is not None:
        return refusal
    return _find_node(subgraph, refusal, ctx)


def _check(subgraph: SubgraphOp, ctx: XirContext) -> LibraryRefusal | None:
    graph = write_unweighted(subgraph, ctx)
    refusal = _native.check_graph(
        graph.flatbuffer,
        constant_bytes=graph.constant_bytes,
        named_data={key: b"".join(map(bytes, data.chunks())) for key, data in graph.named_data.items()},
        xnnpack_paths=xnnpack_paths(),
    )
    if refusal is None:
        return None
    index, reason = refusal
    return LibraryRefusal(None if index is None else graph.nodes[index], reason)


def _find_node(subgraph: SubgraphOp, refusal: LibraryRefusal, ctx: XirContext) -> LibraryRefusal:
    """Blame a node for what XNNPACK refuses as a whole, by halving."""
    nodes = [op for op in subgraph.body.block.ops if isinstance(op, NodeOp)]
    taken, refused = 0, len(nodes)
    while refused - taken > 1:
        middle = (taken + refused) // 2
        found = _check(_beginning(subgraph, middle), ctx)
        if found is None:
            taken = middle
        else:
            refused, refusal = middle, found
    return LibraryRefusal(nodes[refused - 1] if nodes else None, refusal.reason)


def _beginning(subgraph: SubgraphOp, count: int) -> SubgraphOp:
    """The first `count` nodes; results without users are outputs. It has no operands, so that no value gains users."""
    body = Region()
    subgraph.body.clone_into(body)
    nodes = [op for op in body.block.ops if isinstance(op, NodeOp)]
    for op in (body.block.last_op, *reversed(nodes[count:])):
        assert op is not None
        op.detach()
        op.erase()
    unread = [value for op in nodes[:count] for value in op.results if value.first_use is None]
    body.block.add_op(YieldOp.create(operands=unread))
    return SubgraphOp.create(
        result_types=[value.type for value in unread], properties=dict(subgraph.properties), regions=[body]
    )
