"""The patterns of `fold-qdq` that bring conversions to where they meet a node, or do away with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.ir.rewriting import op_rewrite_pattern
from xir.transforms.analysis.static_tensor import dequantized, quantized, range_of
from xir.transforms.xnnpack.optimize._integers import (
    constant_name,
    converted,
    dequantized_from,
    is_activation,
    is_move,
    on_elements,
)


class SinkDequantize(RewritePattern):
    """move(dequantise(x)) → dequantise(move(x)), which moves a quarter of the bytes."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.NodeOp, rewriter: PatternRewriter, /) -> None:
        """Let a node that moves data move integers, if they stand for the same numbers afterwards."""
        if not is_move(op):
            return
        sources = [source for value in op.operands if (source := dequantized_from(value)) is not None]
        if len(sources) < len(op.operands) or not is_activation(sources[0]):
            return
        element = element_type(sources[0])
        if any(element_type(source) != element for source in sources) or not keeps_numbers(op, element):
            return
        moved = on_elements(op, sources, [element])
        if moved is not None:
            rewriter.insert(moved)
            rewriter.replace(op, [], [converted(moved.results[0], f32, op, rewriter)])


@dataclass
class DequantizeLeftOver(RewritePattern):
    """Remove conversions that no node took: constants are dequantised now, other numbers were never quantised."""

    ctx: XirContext

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.ConvertOp, rewriter: PatternRewriter, /) -> None:
        """Replace a conversion by the floating-point numbers before it."""
        source = op.input.owner
        if isinstance(source, xnnpack.ConstantOp) and isinstance(element := element_type(op.input), UniformType):
            array = dequantized(storage_array(source.value, self.ctx, source), element)
            made = xnnpack.ConstantOp(make_dense(array, self.ctx, constant_name(source)))
            inherit(made, source)
            rewriter.replace(op, made)
        elif isinstance(source, xnnpack.ConvertOp) and isinstance(element_type(op.input), xnnpack.DynamicType):
            pass_on(op, source.input, rewriter)


def pass_on(op: xnnpack.ConvertOp, value: SSAValue, rewriter: PatternRewriter) -> None:
    """Replace a conversion by `value`, or by a copy of it where the subgraph needs an output of its own."""
    if is_output(op.output) and (not isinstance(value.owner, xnnpack.NodeOp) or is_output(value)):
        copy = xnnpack.CopyOp.create(operands=[value], result_types=[op.output.type])
        inherit(copy, op)
        value = rewriter.insert(copy).output
    rewriter.replace(op, [], [value])


def is_output(value: SSAValue) -> bool:
    """Whether a value is an output of the subgraph, which has to be a node's, and one output only."""
    return any(isinstance(use.operation, xnnpack.YieldOp) for use in value.uses)


def keeps_numbers(op: Operation, element: Attribute) -> bool:
    """Whether a move gives the same numbers on integers: its constants are among those that integers stand for."""
    assert isinstance(element, UniformType)
    if isinstance(op, xnnpack.StaticConstantPadOp):
        number = np.array([op.padding_value.value.data], np.float32)
        integers = quantized(number, element, range_of(element))
        return bool(dequantized(integers, element) == number)
    return not isinstance(op, xnnpack.BoundedOp) or not op.is_bounded
