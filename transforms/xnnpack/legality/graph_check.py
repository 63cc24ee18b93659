"""Whether the installed XNNPACK takes whole subgraphs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.ir import Operation

from xir.dialects import xnnpack
from xir.dialects.delegate import GraphOp
from xir.ir.context import XirContext
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.xnnpack.legality.checker import XnnpackChecker, kind_of


def refused_nodes(ctx: XirContext, graphs: Sequence[GraphOp]) -> dict[Operation, RefusalError]:
    """The nodes of subgraphs with static shapes that XNNPACK refuses; a subgraph where it names no node.

    XNNPACK stops at the first node of a subgraph that it refuses. The other nodes here are those that it refuses on
    their own, so that all of them are left outside at once when delegates are formed again.
    """
    checker = XnnpackChecker(ctx)
    refused: dict[Operation, RefusalError] = {}
    for subgraph in graphs:
        assert isinstance(subgraph, xnnpack.SubgraphOp)
        if (refusal := checker.refusal(subgraph)) is not None:
            refused |= refused_alone(subgraph, checker)
            refused[refusal.node or subgraph] = RefusalError(refusal.reason)
    return refused


def refused_alone(subgraph: xnnpack.SubgraphOp, checker: XnnpackChecker) -> dict[Operation, RefusalError]:
    """The nodes of a subgraph that XNNPACK refuses on their own. Equal nodes are checked once."""
    numbers, verdicts = checker.ctx.attribute_numbers, dict[Hashable, str | None]()
    refused: dict[Operation, RefusalError] = {}
    for node in subgraph.body.block.ops:
        if isinstance(node, xnnpack.NodeOp):
            kind = kind_of(node, numbers)
            if kind not in verdicts:
                verdicts[kind] = checker.node_refusal(node)
            if (reason := verdicts[kind]) is not None:
                refused[node] = RefusalError(reason)
    return refused
