"""The patterns of `fold-qdq` that give weighted nodes their filters in integers where inputs have no known scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import VerifyException

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import rearranges
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.ir.rewriting import op_rewrite_pattern
from xir.transforms.analysis.static_tensor import range_of, with_short_scales
from xir.transforms.xnnpack.analysis.stays_float import report_filter
from xir.transforms.xnnpack.building.constants import constant_like
from xir.transforms.xnnpack.optimize._integers import conversion, converted, dequantized_from, on_elements


@dataclass
class FoldRunTimeInput(RewritePattern):
    """Let a node whose input is quantised at run time read the integers, and give it its filter in integers."""

    ctx: XirContext
    reported: set[Operation]
    """The nodes whose filters have been reported to stay in floating point; the pattern adds to them."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.WeightedOp, rewriter: PatternRewriter, /) -> None:
        """Fold the conversions before one node."""
        kernel = dequantized_from(op.filter)
        source = None if kernel is None else quantized_at_run_time(op, rewriter)
        if kernel is None or source is None:
            return
        rest = [] if op.bias is None else [op.bias]
        held = as_held(kernel, op, rewriter)
        if isinstance(op, xnnpack.Conv2dOp) and op.is_pointwise:
            folded = self.on_pixels(op, [source, held, *rest], rewriter)
        else:
            folded = on_elements(op, [source, held, *rest], [element_type(op.output)])
        if folded is not None:
            rewriter.replace(op, folded)
        else:
            report_filter(op, element_type(source), element_type(kernel), self.ctx)
            self.reported.add(op)

    def on_pixels(
        self, op: xnnpack.WeightedOp, operands: Sequence[SSAValue], rewriter: PatternRewriter
    ) -> xnnpack.NodeOp | None:
        """A pointwise convolution as the product that it is; None if XNNPACK has none of such a filter.

        XNNPACK makes one of it itself, and gives its input a scale for each pixel, under which other nodes
        that read it compute something else (`xnn_define_convolution_2d` in `src/subgraph/convolution-2d.c`, at commit
        92a7ad501b).
        """
        image, kernel, *bias = operands
        assert isinstance(kernel.owner, xnnpack.ConstantOp)
        array = storage_array(kernel.owner.elements, self.ctx, kernel.owner)
        matrix = constant_like(kernel.owner, array.reshape(array.shape[0], array.shape[-1]), self.ctx)
        node = xnnpack.FullyConnectedOp.create(
            operands=[image, matrix.output, *bias],
            result_types=[op.output.type],
            properties={name: op.properties[name] for name in ("output_min", "output_max") if name in op.properties},
        )
        try:
            node.verify_()
        except VerifyException:
            node.erase()
            return None
        rewriter.insert(matrix)
        inherit(node, op)
        return node


@dataclass
class FoldFilter(RewritePattern):
    """Give a node whose input stays in floating point its filter in integers, and add the bias behind it.

    XNNPACK's kernels would multiply the bias by the filter's scales (`src/f32-qc8w-gemm`).
    """

    ctx: XirContext
    reported: set[Operation]
    """The nodes whose filters have been reported to stay in floating point, each only once."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.WeightedOp, rewriter: PatternRewriter, /) -> None:
        """Fold the conversion of one node's filter."""
        kernel = dequantized_from(op.filter)
        if kernel is None:
            return
        held = as_held(kernel, op, rewriter)
        is_clamped = op.bias is not None and op.bounds != (-math.inf, math.inf)
        folded = None if is_clamped else on_elements(op, [op.input, held], [element_type(op.output)])
        if folded is None:
            if op not in self.reported and dequantized_from(op.input) is None:
                report_filter(op, element_type(op.input), element_type(held), self.ctx)
            return
        product = rewriter.insert(folded).results[0]
        if op.bias is not None:
            properties = {"kind": xnnpack.binary_kind("add")}
            add = xnnpack.BinaryOp.create(
                operands=[product, op.bias], result_types=[product.type], properties=properties
            )
            inherit(add, op)
            product = rewriter.insert(add).output
        rewriter.replace(op, [], [product])


def as_held(kernel: SSAValue, node: xnnpack.WeightedOp, rewriter: PatternRewriter) -> SSAValue:
    """A constant filter with the scales that XNNPACK takes where the input's scale is not known: one for each output
    channel, also of a filter with a single scale; those of blocks in bf16."""
    element, owner = element_type(kernel), kernel.owner
    if not isinstance(element, UniformType) or not isinstance(owner, xnnpack.ConstantOp):
        return kernel
    wanted = element
    if element.is_per_tensor:
        axis = node.channel_axis
        scales = [element.scale] * shape_of(kernel)[axis]
        zero_points = [element.zero_point] * len(scales)
        wanted = UniformType.per_axis(element.storage, f32, axis, scales, zero_points, range_of(element))
    elif element.is_blockwise:
        wanted = with_short_scales(element)
    if wanted == element:
        return kernel
    made = xnnpack.ConstantOp.create(
        properties=dict(owner.properties), result_types=[TensorType(wanted, shape_of(kernel))]
    )
    inherit(made, owner)
    return rewriter.insert(made).output


def quantized_at_run_time(node: xnnpack.WeightedOp, rewriter: PatternRewriter) -> SSAValue | None:
    """The node's input quantised by rows, if it was quantised at run time, before or after it was moved."""
    moves: list[Operation] = []
    value = node.input
    while isinstance(move := value.owner, Operation) and (rearranges(move) or pads_with_zeros(move)):
        moves.append(move)
        value = move.operands[0]
    source = dequantized_from(value)
    if source is None or not isinstance(element_type(source), xnnpack.DynamicType):
        return None
    value = conversion(source).input
    for move in reversed(moves):
        made = on_elements(move, [value], [element_type(value)])
        assert made is not None, "a move of floating-point numbers is one in any place"
        value = rewriter.insert(made).results[0]
    of_pixels = isinstance(node, xnnpack.Conv2dOp) and node.is_pointwise
    rows = 1 if isinstance(node, xnnpack.FullyConnectedOp) or of_pixels else 3
    return converted(value, xnnpack.DynamicType.of(rows), node, rewriter)


def pads_with_zeros(op: Operation) -> bool:
    """Whether a node pads with zeros, which the range of numbers that are quantised at run time always contains."""
    return isinstance(op, xnnpack.StaticConstantPadOp) and op.padding_value.value.data == 0
