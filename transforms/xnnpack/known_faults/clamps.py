"""A clamp that changes the scale of quantised numbers."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.transforms.xnnpack.known_faults.fault import KnownFault, Site, apart, readers_of, sliced_whole, source_of


def rescaling_clamps(graph: xnnpack.SubgraphOp) -> Iterator[xnnpack.ClampOp]:
    """The clamps whose result has another scale than their operand."""
    for node in graph.body.block.ops:
        if isinstance(node, xnnpack.ClampOp) and element_type(node.input) != element_type(node.output):
            yield node


def joined(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Clamps after a max pooling that nothing else reads. The rewrite inserts a copy between them."""
    for node in rescaling_clamps(graph):
        value = source_of(node.input)
        if isinstance(value.owner, xnnpack.MaxPooling2dOp) and readers_of(value) == {node}:
            yield Site(node, lambda node=node: apart(node, node.input, sliced_whole(node.input)))


def without_bounds(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Clamps without a bound. The rewrite replaces them by conversions."""
    for node in rescaling_clamps(graph):
        if node.bounds == (-inf, inf):
            yield Site(node, lambda node=node: convert(node))


def convert(node: Operation) -> None:
    """Replace a node by a conversion to the type of its result."""
    conversion = xnnpack.ConvertOp.create(operands=list(node.operands), result_types=list(node.result_types))
    inherit(conversion, node)
    Rewriter.replace_op(node, conversion)


CLAMP_IN_POOLING = KnownFault(
    name="clamp-in-pooling",
    place="src/subgraph.c, optimize_common_subgraphs_merge_clamps",
    wrong="it merges the clamp into the max pooling before it, which keeps the integers of its operand",
    smallest="""
!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>
func.func @forward(%x: tensor<1x2x2x1xi8>) -> tensor<1x1x1x1xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x2x2x1xi8>) -> tensor<1x1x1x1xi8> {
  ^bb0(%q: tensor<1x2x2x1x!a>):
    %y = xnnpack.max_pooling2d %q {kernel = array<i32: 2, 2>} : tensor<1x2x2x1x!a> -> tensor<1x1x1x1x!a>
    %z = xnnpack.clamp %y {output_min = 0.0 : f32, output_max = 6.0 : f32}
       : tensor<1x1x1x1x!a> -> tensor<1x1x1x1x!b>
    xnnpack.yield %z : tensor<1x1x1x1x!b>
  }
  func.return %0 : tensor<1x1x1x1xi8>
}
""",
    sites=joined,
)

CLAMP_WITHOUT_BOUNDS = KnownFault(
    name="clamp-without-bounds",
    place="src/subgraph.c, optimize_common_subgraphs_spurious_clamps",
    wrong="it removes the clamp, and with it the change of scale",
    smallest="""
!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>
func.func @forward(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%q: tensor<4x!a>):
    %y = xnnpack.static_transpose %q {perm = array<i32: 0>} : tensor<4x!a> -> tensor<4x!a>
    %z = xnnpack.clamp %y {output_min = 0xFF800000 : f32, output_max = 0x7F800000 : f32} : tensor<4x!a> -> tensor<4x!b>
    xnnpack.yield %z : tensor<4x!b>
  }
  func.return %0 : tensor<4xi8>
}
""",
    sites=without_bounds,
)
