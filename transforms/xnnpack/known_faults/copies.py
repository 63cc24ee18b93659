"""A copy that one node reads more than once."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.rewriter import Rewriter

from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.transforms.xnnpack.known_faults.fault import KnownFault, Site


def sites(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Copies inside a graph that one node reads twice. The rewrite lets it read what they copy."""
    for node in graph.body.block.ops:
        if not isinstance(node, xnnpack.CopyOp):
            continue
        readers = [use.operation for use in node.output.uses]
        if len(set(readers)) < len(readers):
            yield Site(node, lambda node=node: Rewriter.replace_op(node, [], [node.input]))


COPY_READ_TWICE = KnownFault(
    name="copy-read-twice",
    place="src/subgraph.c, xnn_subgraph_fusion",
    wrong="it removes the copy for one of the two operands, and crashes at the other",
    smallest="""
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %c = xnnpack.copy %a : tensor<2xf32> -> tensor<2xf32>
    %z = xnnpack.binary add %c, %c : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    xnnpack.yield %z : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}
""",
    sites=sites,
)
