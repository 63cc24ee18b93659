"""A sum of halves that is scaled."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import Float16Type

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.ir.context import XirContext
from xir.transforms.xnnpack.known_faults.fault import KnownFault, Site, apart, readers_of, sliced_whole, source_of

SUMS = ("sum", "sum_squared")


def sites(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Products and quotients of an fp16 sum and a number. The rewrite inserts a copy after the sum."""
    for node in graph.body.block.ops:
        if not isinstance(node, xnnpack.BinaryOp) or node.kind.data not in ("multiply", "divide"):
            continue
        for value, number in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
            sum_ = source_of(value)
            reduce = sum_.owner
            if not isinstance(reduce, xnnpack.StaticReduceOp) or reduce.kind.data not in SUMS:
                continue
            if not isinstance(element_type(sum_), Float16Type) or readers_of(sum_) != {node}:
                continue
            if isinstance(number.owner, xnnpack.ConstantOp) and prod(shape_of(number)) == 1:
                yield Site(node, lambda node=node, value=value: apart(node, value, sliced_whole(value)))


SCALED_SUM = KnownFault(
    name="scaled-sum",
    place="src/subgraph.c, widen_fp16_accumulators and convert_static_value_to_fp32",
    wrong="it computes the node in fp32, but replaces the node by a conversion without an operand",
    smallest="""
func.func @forward(%x: tensor<2x4xf16>) -> tensor<2xf16> {
  %0 = xnnpack.subgraph(%x) {target = "xir"} : (tensor<2x4xf16>) -> tensor<2xf16> {
  ^bb0(%a: tensor<2x4xf16>):
    %s = xnnpack.static_reduce sum %a {axes = array<i32: 1>} : tensor<2x4xf16> -> tensor<2xf16>
    %c = xnnpack.constant dense<0.5> : tensor<1xf16>
    %z = xnnpack.binary multiply %s, %c : tensor<2xf16>, tensor<1xf16> -> tensor<2xf16>
    xnnpack.yield %z : tensor<2xf16>
  }
  func.return %0 : tensor<2xf16>
}
""",
    sites=sites,
)
