"""A product whose operands are the same transposed value."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import ints, shape_of
from xir.ir.context import XirContext
from xir.transforms.xnnpack.known_faults.fault import (
    KnownFault,
    Site,
    apart,
    can_reshape,
    readers_of,
    reshaped,
    sliced_whole,
    source_of,
)


def sites(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Products whose right operand is a transpose, or comes from one, that the node also reads elsewhere.

    The rewrite inserts a copy: where possible a reshape to the same shape, which XNNPACK does in place.
    """
    for node in graph.body.block.ops:
        if isinstance(node, xnnpack.BatchMatrixMultiplyOp | xnnpack.FullyConnectedOp) and reads_turned_value(node):
            yield Site(node, lambda node=node: keep_apart(node))


def keep_apart(node: Operation) -> None:
    """Have a node read a copy of its right operand, wherever it reads that."""
    value = node.operands[1]
    shape = shape_of(value)
    apart(node, value, reshaped(value, shape) if can_reshape(shape) else sliced_whole(value))


def reads_turned_value(node: Operation) -> bool:
    """Whether XNNPACK would turn a transpose for the right operand of a product that reads it as another one, too.

    It leaves out a transpose of the last two dimensions in front of the product, and then looks at what was in front
    of that.
    """
    passed: set[Operation] = {node}
    value = source_of(node.operands[1])
    others = {source_of(operand) for index, operand in enumerate(node.operands) if index != 1}
    while isinstance(transpose := value.owner, xnnpack.StaticTransposeOp) and readers_of(value) <= passed:
        if not swaps_last_two(transpose):
            return value in others
        passed.add(transpose)
        value = source_of(transpose.input)
    return False


def swaps_last_two(transpose: xnnpack.StaticTransposeOp) -> bool:
    """Whether a transpose moves the last two dimensions alone."""
    perm = list(ints(transpose.perm))
    last = len(perm) - 1
    return perm == [*range(last - 1), last, last - 1] if last > 0 else False


TURNED_TRANSPOSE = KnownFault(
    name="turned-transpose",
    place="src/subgraph.c, optimize_common_subgraphs_gemm_rhs_transpose",
    wrong="it folds away the transpose that makes the right operand, and misses that another operand is the same value",
    smallest="""
func.func @forward(%x: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  ^bb0(%a: tensor<2x2x2xf32>):
    %y = xnnpack.static_transpose %a {perm = array<i32: 1, 0, 2>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %z = xnnpack.batch_matrix_multiply %y, %y : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    xnnpack.yield %z : tensor<2x2x2xf32>
  }
  func.return %0 : tensor<2x2x2xf32>
}
""",
    sites=sites,
)
