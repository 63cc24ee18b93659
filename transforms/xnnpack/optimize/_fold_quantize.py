"""The pattern of `fold-qdq` that makes nodes in front of quantise conversions compute on integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import Float32Type, f32, i8, i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.quantization import stored_bounds
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.rewriting import op_rewrite_pattern
from xir.transforms.analysis.static_tensor import quantized, range_of
from xir.transforms.xnnpack.optimize._integers import (
    conversion,
    converted,
    dequantized_from,
    is_activation,
    is_move,
    on_elements,
    stored_constant,
)
from xir.transforms.xnnpack.optimize._move_conversions import pass_on

KNOWN_RANGES = {
    "sigmoid": UniformType.per_tensor(i8, f32, 1 / 256, -128),
    "tanh": UniformType.per_tensor(i8, f32, 1 / 128),
}
"""Functions whose results are in a range known beforehand, with the type that resolves it."""


LARGEST_BIAS = 2**30
"""Sums of 32 bits wrap around in XNNPACK. This leaves room for as many as 2^15 products of a filter's channel."""


@dataclass
class FoldQuantize(RewritePattern):
    """quantise(node(dequantise(x), …)) → node(x, …), or, for a node that moves data, move(quantise(x))."""

    ctx: XirContext

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.ConvertOp, rewriter: PatternRewriter, /) -> None:
        """Fold a conversion into the node before it, and those that it becomes above that node into theirs."""
        pending = [op] if is_quantize(op) else []
        while pending:
            op = pending.pop()
            producer, wanted = op.input.owner, element_type(op.output)
            source = dequantized_from(op.input)
            if source is not None and element_type(source) == wanted:
                pass_on(op, source, rewriter)
                continue
            if not isinstance(producer, xnnpack.NodeOp) or not op.input.has_one_use() or source is not None:
                continue
            assert isinstance(wanted, UniformType)
            if (folded := self.on_integers(producer, wanted, rewriter)) is not None:
                rewriter.insert(folded, InsertPoint.before(producer))
                rewriter.replace(op, [], folded.results)
                rewriter.erase(producer)
            elif is_move(producer) or isinstance(producer, xnnpack.ClampOp):
                pending += hoist(op, producer, wanted, rewriter)

    def on_integers(
        self, node: xnnpack.NodeOp, wanted: UniformType, rewriter: PatternRewriter
    ) -> xnnpack.NodeOp | None:
        """The node with quantised operands and a result of type `wanted`; None if there is none in XNNPACK."""
        # XNNPACK's kernel for a leaky ReLU on integers multiplies by factors in 1/256; a look-up is exact, and as fast.
        if len(node.results) != 1 or isinstance(node, xnnpack.LeakyReluOp):
            return None
        operands: list[SSAValue] = []
        for value in node.operands:
            if isinstance(node, xnnpack.WeightedOp) and value is node.bias:
                continue
            source = self.integers_of(value, node, rewriter)
            if source is None:
                return None
            operands.append(source)
        if isinstance(node, xnnpack.WeightedOp) and node.bias is not None:
            bias = self.integer_bias(node.bias, operands[0], operands[1])
            if bias is None:
                return None
            operands.append(rewriter.insert(bias, InsertPoint.before(node)).output)
        return on_elements(node, operands, [wanted])

    def integers_of(self, value: SSAValue, node: xnnpack.NodeOp, rewriter: PatternRewriter) -> SSAValue | None:
        """The integers that an operand of `node` was dequantised from, or can be computed in."""
        source = dequantized_from(value)
        if source is not None:
            return source
        owner, made = value.owner, None
        if isinstance(node, xnnpack.WeightedOp) and value is node.filter and isinstance(owner, xnnpack.ConstantOp):
            made = self.signs_of(owner, node.channel_axis)
        elif not isinstance(node, xnnpack.BinaryOp):
            return None
        elif isinstance(owner, xnnpack.ConstantOp) and np.prod(shape_of(value)) > 1:
            made = self.integer_constant(owner)
        elif isinstance(owner, xnnpack.UnaryOp) and value.has_one_use() and owner.kind.data in KNOWN_RANGES:
            source = dequantized_from(owner.input)
            if source is not None and is_activation(source):
                made, node = on_elements(owner, [source], [KNOWN_RANGES[owner.kind.data]]), owner
        return None if made is None else rewriter.insert(made, InsertPoint.before(node)).results[0]

    def signs_of(self, op: xnnpack.ConstantOp, axis: int) -> xnnpack.ConstantOp | None:
        """A filter that sums or picks elements: the weights of each channel are one number, its negative or 0."""
        numbers = constant_array(op.value, self.ctx, op)
        magnitudes = np.abs(np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1))
        scales = magnitudes.max(1)
        if not scales.all() or ((magnitudes != 0) & (magnitudes != scales[:, None])).any():
            return None
        element = UniformType.per_axis(i8, f32, axis, scales.astype(np.float64).tolist())
        return stored_constant(np.sign(numbers).astype(np.int8), element, op, self.ctx)

    def integer_constant(self, op: xnnpack.ConstantOp) -> xnnpack.ConstantOp | None:
        """A constant operand of an elementwise node in integers, over the range of its numbers."""
        numbers = constant_array(op.value, self.ctx, op)
        low, high = min(float(numbers.min()), 0.0), max(float(numbers.max()), 0.0)
        if not np.isfinite([low, high]).all() or low == high:
            return None
        element = range_type(low, high)
        return stored_constant(quantized(numbers, element, range_of(element)), element, op, self.ctx)

    def integer_bias(self, bias: SSAValue, value: SSAValue, kernel: SSAValue) -> xnnpack.ConstantOp | None:
        """A constant bias as 32-bit integers with the scale of input · filter; None if the sums could wrap around."""
        source, weights = element_type(value), element_type(kernel)
        if not isinstance(bias.owner, xnnpack.ConstantOp) or not isinstance(element_type(bias), Float32Type):
            return None
        if not isinstance(source, UniformType) or not isinstance(weights, UniformType) or weights.is_blockwise:
            return None
        numbers = constant_array(bias.owner.value, self.ctx, bias.owner).astype(np.float64)
        scales = np.float32(source.scale) * weights.scale_array().astype(np.float32)
        if not (scales >= np.finfo(np.float32).smallest_normal).all():
            return None
        integers = np.rint(numbers / scales)
        if not (np.abs(integers) <= LARGEST_BIAS).all():
            return None
        array = integers.astype(np.int32)
        if weights.is_per_tensor:
            element = UniformType.per_tensor(i32, f32, float(scales.item()))
        else:
            element = UniformType.per_axis(i32, f32, 0, scales.astype(np.float64).tolist())
        return stored_constant(array, element, bias.owner, self.ctx)


def hoist(
    op: xnnpack.ConvertOp, move: xnnpack.NodeOp, wanted: UniformType, rewriter: PatternRewriter
) -> list[xnnpack.ConvertOp]:
    """quantise(move(x)) → move(quantise(x)): rounding is the same before and after. Returns the new conversions."""
    if isinstance(move, xnnpack.ClampOp) and covers(move.bounds, wanted):
        quantize = converted(move.input, wanted, move, rewriter)
        rewriter.replace(op, [], [quantize])
        rewriter.erase(move)
        return [conversion(quantize)]
    before = {value: converted(value, wanted, move, rewriter) for value in dict.fromkeys(move.operands)}
    moved = on_elements(move, [before[value] for value in move.operands], [wanted])
    if moved is None:
        for value in before.values():
            rewriter.erase(conversion(value))
        return []
    rewriter.insert(moved, InsertPoint.before(move))
    rewriter.replace(op, [], moved.results)
    rewriter.erase(move)
    return [conversion(value) for value in before.values()]


def is_quantize(op: xnnpack.ConvertOp) -> bool:
    """Whether a conversion rounds numbers to integers with a known scale."""
    return isinstance(element_type(op.input), Float32Type) and isinstance(element_type(op.output), UniformType)


def covers(bounds: tuple[float, float], element: UniformType) -> bool:
    """Whether bounds leave out no integer of a type."""
    return stored_bounds(bounds, element) == range_of(element)


def range_type(low: float, high: float) -> UniformType:
    """The 8-bit type that resolves the numbers from `low` to `high`, zero among them."""
    scale = float(np.float32((high - low) / 255))
    return UniformType.per_tensor(i8, f32, scale, round(-128 - low / scale))
