"""Chains of functions of 8-bit numbers, of which XNNPACK makes a table."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import rank_of, shape_of
from xir.ir.context import XirContext
from xir.transforms.xnnpack.analysis.tables import has_8_bit, tables
from xir.transforms.xnnpack.known_faults.fault import KnownFault, Site, apart, can_reshape, reshaped


def sites(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Nodes of a chain whose constant adds dimensions. The rewrite adds them before the chain."""
    if not has_8_bit(graph):
        return
    for node in {id(node): node for chain in tables(graph.body.block) for node in chain}.values():
        value = next(each for each in node.operands if not isinstance(each.owner, xnnpack.ConstantOp))
        if (more := rank_of(node.results[0]) - rank_of(value)) <= 0:
            continue
        shape = (*[1] * more, *shape_of(value))
        yield Site(node, (lambda n=node, v=value, s=shape: raise_rank(n, v, s)) if can_reshape(shape) else None)


def raise_rank(node: Operation, value: SSAValue, shape: tuple[int, ...]) -> None:
    """Have a node read `value` in the shape `shape`."""
    apart(node, value, reshaped(value, shape))


TABLE_OF_HIGHER_RANK = KnownFault(
    name="table-of-higher-rank",
    place="src/subgraph.c, xnn_subgraph_fuse_unary_quantized_into_lut",
    wrong="it turns the node into a table, whose result lacks the dimensions that a constant adds",
    smallest="""
!q = !quant.uniform<i8:f32, 0.5>
func.func @forward(%x: tensor<4xi8>) -> tensor<1x4xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<1x4xi8> {
  ^bb0(%a: tensor<4x!q>):
    %c = xnnpack.constant dense<1> : tensor<1x1xi8> -> tensor<1x1x!q>
    %b = xnnpack.binary add %a, %c : tensor<4x!q>, tensor<1x1x!q> -> tensor<1x4x!q>
    %z = xnnpack.unary abs %b : tensor<1x4x!q> -> tensor<1x4x!q>
    xnnpack.yield %z : tensor<1x4x!q>
  }
  func.return %0 : tensor<1x4xi8>
}
""",
    sites=sites,
)

LONG_CHAIN = KnownFault(
    name="long-chain",
    place="src/subgraph.c, xnn_subgraph_fuse_unary_quantized_into_lut and rewrite_dequant_bmm_at",
    wrong="it writes past the end of an array of ten nodes, which ends the process",
    smallest="""
!q = !quant.uniform<i8:f32, 0.5>
func.func @forward(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a0: tensor<4x!q>):
"""
    + "".join(f"    %a{i + 1} = xnnpack.unary negate %a{i} : tensor<4x!q> -> tensor<4x!q>\n" for i in range(10))
    + """    xnnpack.yield %a10 : tensor<4x!q>
  }
  func.return %0 : tensor<4xi8>
}
""",
    sites=None,
    kept_by="isolate-tables",
)
