"""Halves that a graph would yield in fp32, and XNNPACK take for halves."""

from __future__ import annotations

from collections.abc import Iterator

from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.transforms.xnnpack.known_faults.fault import KnownFault, Site, apart, sliced_whole


def sites(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Conversions to fp32 that a graph yields and whose operand other nodes read (`is_mistaken_as_output`).

    The rewrite yields a copy.
    """
    for value in graph.yield_op.values:
        node = value.owner
        if isinstance(node, xnnpack.ConvertOp) and node.is_mistaken_as_output:
            yield Site(node, lambda value=value: apart(graph.yield_op, value, sliced_whole(value)))


WIDENED_OUTPUT = KnownFault(
    name="widened-output",
    place="src/subgraph/rewrites/cvt_to_fp32.cc, FallbackToFp32",
    wrong="it makes the other readers of the operand read the fp32 result instead",
    smallest="""
func.func @forward(%x: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xbf16>) {
  %0:2 = xnnpack.subgraph(%x) : (tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xbf16>) {
  ^bb0(%a: tensor<2xbf16>):
    %b = xnnpack.unary abs %a : tensor<2xbf16> -> tensor<2xbf16>
    %y = xnnpack.convert %b : tensor<2xbf16> -> tensor<2xf32>
    %z = xnnpack.static_reshape %b {new_shape = array<i32: 2>} : tensor<2xbf16> -> tensor<2xbf16>
    xnnpack.yield %y, %z : tensor<2xf32>, tensor<2xbf16>
  }
  func.return %0#0, %0#1 : tensor<2xf32>, tensor<2xbf16>
}
""",
    sites=sites,
)
