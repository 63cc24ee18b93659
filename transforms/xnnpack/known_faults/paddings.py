"""Padding of what XNNPACK keeps in fp32 instead of in 16 bits."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import Float16Type, TensorType, f32
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.transforms.xnnpack.known_faults.fault import KnownFault, Site, apart, sliced_whole, source_of


def sites(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Paddings, with a number other than 0, of a node's fp16 result, or of its 16-bit result converted to fp32.

    Which nodes have no kernel for 16 bits depends on the processor. The rewrite inserts a
    copy in fp32, which is not marked as kept in fp32; fp16 is padded in fp32, where the numbers are the same.
    """
    for node in graph.body.block.ops:
        if not isinstance(node, xnnpack.StaticConstantPadOp) or node.padding_value.value.data == 0:
            continue
        owner = source_of(node.input).owner
        if isinstance(element_type(node.input), Float16Type) and isinstance(owner, xnnpack.NodeOp):
            yield Site(node, lambda node=node: pad_in_fp32(node))
        elif isinstance(owner, xnnpack.ConvertOp) and owner.widens and is_computed(owner):
            yield Site(node, lambda node=node: apart(node, node.input, sliced_whole(node.input)))


def is_computed(conversion: xnnpack.ConvertOp) -> bool:
    """Whether a node makes what is converted."""
    return isinstance(source_of(conversion.input).owner, xnnpack.NodeOp)


def pad_in_fp32(node: Operation) -> None:
    """Replace a padding of halves by one of fp32 between conversions."""
    assert isinstance(node, xnnpack.StaticConstantPadOp)
    wide, padded = (TensorType(f32, shape_of(value)) for value in (node.input, node.output))
    widened = xnnpack.ConvertOp.create(operands=[node.input], result_types=[wide])
    copy = sliced_whole(widened.output)
    pad = xnnpack.StaticConstantPadOp.create(
        operands=list(copy.results), properties=dict(node.properties), result_types=[padded]
    )
    narrowed = xnnpack.ConvertOp.create(operands=[pad.output], result_types=[node.output.type])
    for made in (widened, copy, pad):
        inherit(made, node)
        Rewriter.insert_op(made, InsertPoint.before(node))
    inherit(narrowed, node)
    Rewriter.replace_op(node, narrowed)


PADDING_KEPT_WIDE = KnownFault(
    name="padding-kept-wide",
    place="src/subgraph/rewrites/cvt_to_fp32.cc, FallbackToFp32",
    wrong="it keeps the operand in fp32, and converts the padding number from 16 bits once too often",
    smallest="""
func.func @forward(%x: tensor<2xbf16>) -> tensor<3xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2xbf16>) -> tensor<3xf32> {
  ^bb0(%a: tensor<2xbf16>):
    %b = xnnpack.unary abs %a : tensor<2xbf16> -> tensor<2xbf16>
    %c = xnnpack.convert %b : tensor<2xbf16> -> tensor<2xf32>
    %z = xnnpack.static_constant_pad %c {pre_paddings = array<i32: 1>, post_paddings = array<i32: 0>,
                                        padding_value = 1.5 : f32} : tensor<2xf32> -> tensor<3xf32>
    xnnpack.yield %z : tensor<3xf32>
  }
  func.return %0 : tensor<3xf32>
}
""",
    sites=sites,
)
