"""Products of quantised integers become products of the numbers that they stand for.

torchao's quantised linear modules multiply integers and scale the result (`Int8Tensor` of
`torchao/quantization/quantize_/workflows/int8/int8_tensor.py`, `_int_scaled_matmul_cpu` of `torchao/kernel/intmm.py`).
Here a quantised program says what is quantised by dequantise ops around operators on numbers, and it is `fold-qdq` that
finds the integer form again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32, i8
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import edge
from xir.dialects.edge.families import Dequantize
from xir.dialects.edge.types import element_of, shape_of
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.transforms.analysis.quantization_parameters import integer_range, known
from xir.transforms.edge.decompositions import EdgeBuilder

EdgeOpT = TypeVar("EdgeOpT", bound=edge.EdgeOp)

SHIFT = 128
"""What torchao adds to signed integers for processors that multiply unsigned ones."""


@dataclass(frozen=True)
class RaiseIntMmPass(XirPass):
    """Turn scaled integer products into products of dequantised numbers.

    Before:
    ```mlir
    %1 = edge._int_mm(%q, %w) : (tensor<5x64xi8>, tensor<64x8xi8>) -> tensor<5x8xi32>
    %2 = edge._to_copy(%1) {dtype = f32} : (tensor<5x8xi32>) -> tensor<5x8xf32>
    %3 = edge.mul.Tensor(%2, %scale) : (tensor<5x8xf32>, tensor<5x1xf32>) -> tensor<5x8xf32>
    %4 = edge.mul.Tensor(%3, %scales) : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
    ```
    After, where `%q` is quantised with `%scale` and the zero point 0:
    ```mlir
    %1 = edge.torchao.dequantize_affine(%q, %scale, ...) {...} : (...) -> tensor<5x64xf32>
    %2 = edge.quantized_decomposed.dequantize_per_channel(%w', %scales, none) {...} : (...) -> tensor<8x64xf32>
    %4 = edge.linear(%1, %2, none) : (tensor<5x64xf32>, tensor<8x64xf32>) -> tensor<5x8xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED
    proved: ClassVar[str] = "products of two rows and two columns, with and without a zero point, a shift and a bias"

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Raise until nothing is left to."""
        patterns = [DropShift(ctx), ScaleOperand(ctx), ShiftOperand(ctx), ScaleWeight(ctx), AddBias(ctx)]
        rewrite_patterns(op, patterns, graphs=False)


@dataclass(frozen=True)
class Raise(RewritePattern):
    """A rewrite that reads constants."""

    ctx: XirContext


class DropShift(Raise):
    """_int_mm(u8(q + 128), w) − 128·Σw → _int_mm(q, w)."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.SubTensorOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the subtraction."""
        product = made_by(op.self, edge.IntMmOp)
        if product is None or op.alpha != 1:
            return
        correction, weight = known(op.other, self.ctx), known(product.mat2, self.ctx)
        unsigned = made_by(product.self, edge.ToCopyOp)
        shifted = None if unsigned is None else made_by(unsigned.self, edge.AddScalarOp)
        widened = None if shifted is None else made_by(shifted.self, edge.ToCopyOp)
        if correction is None or weight is None or shifted is None or widened is None:
            return
        if shifted.other != SHIFT or shifted.alpha != 1 or element_of(widened.self) != i8:
            return
        if np.array_equal(correction.reshape(-1), SHIFT * weight.sum(0, dtype=np.int64)):
            made = edge.IntMmOp(self=widened.self, mat2=product.mat2)
            rewriter.replace(op, [made], made.results)


class Rescale(Raise):
    """A rewrite that finds a product of integers and the scale of the first ones."""

    def scaled_product(self, op: edge.MulTensorOp) -> ScaledProduct | None:
        """The product of integers that `op` multiplies by the scale of the first ones; None if it does not."""
        number = made_by(op.self, edge.ToCopyOp)
        product = None if number is None else made_by(number.self, edge.IntMmOp)
        if product is None or element_of(op.results[0]) != f32:
            return None
        source, views = without_views(product.self)
        quantize = made_by(source, edge.TorchaoQuantizeAffineOp)
        if quantize is None or known(product.mat2, self.ctx) is None:
            return None
        return ScaledProduct(product, quantize, views) if self.is_same(op.other, quantize.scale) else None

    def is_same(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether two values have the same elements in some shapes."""
        if without_views(value)[0] is without_views(other)[0]:
            return True
        first, second = known(value, self.ctx), known(other, self.ctx)
        return first is not None and second is not None and np.array_equal(np.ravel(first), np.ravel(second))


class ScaleOperand(Rescale):
    """f32(_int_mm(q, w)) · scale → dequantised q × w, where q's zero point is 0."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.MulTensorOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the multiplication."""
        found = self.scaled_product(op)
        if found is not None and has_no_zero_point(found.quantize, self.ctx):
            rewriter.replace(op, *found.as_numbers())


class ShiftOperand(Rescale):
    """f32(_int_mm(q, w)) · scale − (f32(zero point) · scale) · Σw → dequantised q × w."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.SubTensorOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the subtraction."""
        scaled, correction = made_by(op.self, edge.MulTensorOp), made_by(op.other, edge.MulTensorOp)
        found = None if scaled is None else self.scaled_product(scaled)
        if found is None or correction is None or op.alpha != 1:
            return
        shift = made_by(correction.self, edge.MulTensorOp)
        number = None if shift is None else made_by(shift.self, edge.ToCopyOp)
        zero_point, sums = found.quantize.zero_point, known(correction.other, self.ctx)
        weight = known(found.product.mat2, self.ctx)
        if shift is None or number is None or zero_point is None or sums is None or weight is None:
            return
        same = self.is_same(number.self, zero_point) and self.is_same(shift.other, found.quantize.scale)
        if same and np.array_equal(sums.reshape(-1), weight.sum(0, dtype=np.int64)):
            rewriter.replace(op, *found.as_numbers())


@dataclass(frozen=True)
class ScaledProduct:
    """A product of integers that its context makes one of numbers."""

    product: edge.IntMmOp
    quantize: edge.TorchaoQuantizeAffineOp
    views: list[edge.ViewOp]
    """What was between the quantise op and the product, first to last."""

    def as_numbers(self) -> tuple[list[edge.EdgeOp], Sequence[SSAValue]]:
        """The ops that compute the product of dequantised integers, and its value."""
        source, b = self.quantize, EdgeBuilder()
        value = b.call(
            edge.TorchaoDequantizeAffineOp,
            input=source.results[0],
            block_size=source.block_size,
            scale=source.scale,
            zero_point=source.zero_point,
            input_dtype=source.output_dtype,
            quant_min=source.quant_min,
            quant_max=source.quant_max,
            output_dtype=f32,
        )
        for view in self.views:
            value = b.call(edge.ViewOp, self=value, size=view.size)
        weight = b.call(edge.ToCopyOp, self=self.product.mat2, dtype=f32)
        result = b.call(edge.MmOp, self=value, mat2=weight)
        return b.ops, [result]


class ScaleWeight(Raise):
    """mm(x, f32(w)) · scales → linear(x, dequantised wᵀ)."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.MulTensorOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the multiplication."""
        product = made_by(op.self, edge.MmOp)
        if product is None or not product.results[0].has_one_use() or element_of(op.results[0]) != f32:
            return
        numbers, scales = self.integers(product.mat2), known(op.other, self.ctx)
        if numbers is None or scales is None or scales.size not in (1, numbers.shape[1]) or not (scales > 0).all():
            return
        by_channel = np.broadcast_to(scales.reshape(-1), (numbers.shape[1],)).astype(np.float32)
        constants = [
            edge.ConstantOp(make_dense(array, self.ctx, name), op.location)
            for array, name in ((numbers.T, "integers"), (by_channel, "scales"))
        ]
        b = EdgeBuilder()
        weight = b.call(
            edge.QuantizedDecomposedDequantizePerChannelOp,
            input=constants[0].result,
            scales=constants[1].result,
            zero_points=None,
            axis=0,
            quant_min=-128,
            quant_max=127,
            dtype=i8,
        )
        result = b.call(edge.LinearOp, input=product.self, weight=weight, bias=None)
        rewriter.replace(op, [*constants, *b.ops], [result])

    def integers(self, value: SSAValue) -> np.ndarray | None:
        """The 8-bit integers that a constant of fp32 numbers has, or was made from; None if it has others."""
        if (copy := made_by(value, edge.ToCopyOp)) is not None:
            array = known(copy.self, self.ctx)
            return array if array is not None and array.dtype == np.int8 else None
        array = known(value, self.ctx)
        if array is None or array.dtype != np.float32:
            return None
        integers = np.clip(array, -128, 127).astype(np.int8)
        return integers if np.array_equal(integers, array) else None


class AddBias(Raise):
    """view(linear(x, w)) + bias → view(linear(x, w, bias)), w being dequantised."""

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.AddTensorOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the addition."""
        source, views = without_views(op.self)
        bias, linear = op.other, made_by(source, edge.LinearOp)
        if linear is None or linear.bias is not None or op.alpha != 1:
            return
        channels = shape_of(source)[-1:]
        between = [source, *(view.results[0] for view in views)]
        if not all(value.has_one_use() and shape_of(value)[-1:] == channels for value in between):
            return
        if not isinstance(linear.weight.owner, Dequantize) or shape_of(bias) != channels:
            return
        if known(bias, self.ctx) is None or element_of(bias) != f32:
            return
        b = EdgeBuilder()
        value = b.call(edge.LinearOp, input=linear.input, weight=linear.weight, bias=bias)
        for view in views:
            value = b.call(edge.ViewOp, self=value, size=view.size)
        rewriter.replace(op, b.ops, [value])


def made_by(value: SSAValue, op_class: type[EdgeOpT]) -> EdgeOpT | None:
    """The op of a class that makes a value; None if something else does."""
    return value.owner if isinstance(value.owner, op_class) else None


def without_views(value: SSAValue) -> tuple[SSAValue, list[edge.ViewOp]]:
    """What `value` is a view of, and the views in between, first to last."""
    views: list[edge.ViewOp] = []
    while isinstance(value.owner, edge.ViewOp):
        views.insert(0, value.owner)
        value = value.owner.self
    return value, views


def has_no_zero_point(op: edge.TorchaoQuantizeAffineOp, ctx: XirContext) -> bool:
    """Whether an op quantises with the zero point 0."""
    if op.zero_point is None:
        return True
    array, chooser = known(op.zero_point, ctx), made_by(op.zero_point, edge.TorchaoChooseQparamsAffineOp)
    if array is not None:
        return not array.any()
    if chooser is None:
        return False
    low, high = integer_range(chooser)
    return chooser.mapping_type.startswith("SYMMETRIC") and int((low + high + 1) / 2) == 0
