"""The nodes of a graph that differ from processor to processor."""

from __future__ import annotations

from collections.abc import Mapping

from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.transforms.xnnpack.analysis.tables import is_8_bit, tables
from xir.transforms.xnnpack.bit_exact.functions import NotDecidedError, check_function
from xir.transforms.xnnpack.bit_exact.nodes import Inexact, inexact

SCALE = "calibrate with other data, since other scales have other ties"


def inexact_nodes(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Mapping[xnnpack.NodeOp, Inexact]:
    """The nodes of a graph whose results differ from processor to processor, with the reasons, in the graph's order."""
    block = graph.body.block
    reasons = {
        node: why for node in block.ops if isinstance(node, xnnpack.NodeOp) if (why := inexact(node)) is not None
    }
    if not reasons:
        return reasons
    chains: list[list[xnnpack.NodeOp]] = [chain for chain in tables(block) if is_8_bit(chain[-1].results[0])]
    inside = {node for chain in chains for node in chain}
    alone = [[node] for node in reasons if node not in inside and _is_table(node)]
    for chain in (*chains, *alone):
        mine = [node for node in chain if node in reasons]
        if not mine:
            continue
        try:
            check_function(chain, ctx)
        except NotDecidedError as error:
            why = Inexact(f"as a function of 8-bit numbers, {error}, as the processor rounds", SCALE)
            reasons |= dict.fromkeys(mine, why)
        else:
            for node in mine:
                del reasons[node]
    return reasons


def _is_table(node: xnnpack.NodeOp) -> bool:
    return isinstance(node, xnnpack.UnaryOp | xnnpack.EluOp) and is_8_bit(node.input) and is_8_bit(node.output)
