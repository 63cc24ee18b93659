"""Products of quantised integers become products of the numbers that they stand for.

torchao's quantised linear modules multiply integers and scale the result (`Int8Tensor` of
`torchao/quantization/quantize_/workflows/int8/int8_tensor.py`, `_int_scaled_matmul_cpu` of `torchao/kernel/intmm.py`).
Here a quantised program says what is quantised by dequantise ops around operators on numbers, and it is `fold-qdq` that
finds the integer form again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32, i8
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.ir.passes import XirPass
from xir.ir.rewriting import rewrite_patterns
from xir.transforms.analysis.quantization_parameters import DEQUANTISE, integer_range, known
from xir.transforms.edge.decompositions import EdgeBuilder

SHIFT = 128
"""What torchao adds to signed integers for processors that multiply unsigned ones."""


@dataclass(frozen=True)
class RaiseIntMmPass(XirPass):
    """Turn scaled products of integers into products of dequantised numbers.

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

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Raise until nothing is left to."""
        rewrite_patterns(op, [DropShift(ctx), ScaleOperand(ctx), ShiftOperand(ctx), ScaleWeight(ctx), AddBias(ctx)])


@dataclass(frozen=True)
class Raise(RewritePattern):
    """A rewrite that reads constants."""

    ctx: XirContext


class DropShift(Raise):
    """_int_mm(u8(q + 128), w) − 128·Σw → _int_mm(q, w)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.EdgeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the subtraction."""
        product = made_by(op, "edge.sub.Tensor", "self", "edge._int_mm")
        if product is None or op.value("alpha") != 1:
            return
        correction = known(op.required("other"), self.ctx)
        weight = known(product.required("mat2"), self.ctx)
        unsigned = made_by(product, "edge._int_mm", "self", "edge._to_copy")
        shifted = None if unsigned is None else made_by(unsigned, "edge._to_copy", "self", "edge.add.Scalar")
        widened = None if shifted is None else made_by(shifted, "edge.add.Scalar", "self", "edge._to_copy")
        if correction is None or weight is None or shifted is None or widened is None:
            return
        integers = widened.required("self")
        if shifted.value("other") != SHIFT or shifted.value("alpha") != 1 or element_of(integers) != i8:
            return
        if np.array_equal(correction.reshape(-1), SHIFT * weight.sum(0, dtype=np.int64)):
            made = edge.op("_int_mm").build_from({"self": integers, "mat2": product.required("mat2")})
            rewriter.replace(op, [made], made.results)


class ScaleOperand(Raise):
    """f32(_int_mm(q, w)) · scale → dequantised q × w, where q's zero point is 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.EdgeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the multiplication."""
        found = self.scaled_product(op)
        if found is not None and has_no_zero_point(found.quantise, self.ctx):
            rewriter.replace(op, *found.as_numbers())

    def scaled_product(self, op: edge.EdgeOp) -> ScaledProduct | None:
        """The product of integers that `op` multiplies by the scale of the first ones; None if it does not."""
        number = made_by(op, "edge.mul.Tensor", "self", "edge._to_copy")
        product = None if number is None else made_by(number, "edge._to_copy", "self", "edge._int_mm")
        if product is None or element_of(op.results[0]) != f32:
            return None
        source, views = without_views(product.required("self"))
        quantise = source.owner
        if known(product.required("mat2"), self.ctx) is None or not is_call(quantise, "edge.torchao.quantize_affine"):
            return None
        if not self.is_same(op.required("other"), quantise.required("scale")):
            return None
        return ScaledProduct(product, quantise, views)

    def is_same(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether two values have the same elements in some shapes."""
        if without_views(value)[0] is without_views(other)[0]:
            return True
        first, second = known(value, self.ctx), known(other, self.ctx)
        return first is not None and second is not None and np.array_equal(np.ravel(first), np.ravel(second))


class ShiftOperand(ScaleOperand):
    """f32(_int_mm(q, w)) · scale − (f32(zero point) · scale) · Σw → dequantised q × w."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.EdgeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the subtraction."""
        scaled = made_by(op, "edge.sub.Tensor", "self", "edge.mul.Tensor")
        correction = made_by(op, "edge.sub.Tensor", "other", "edge.mul.Tensor")
        found = None if scaled is None else self.scaled_product(scaled)
        if found is None or correction is None or op.value("alpha") != 1:
            return
        shift = made_by(correction, "edge.mul.Tensor", "self", "edge.mul.Tensor")
        number = None if shift is None else made_by(shift, "edge.mul.Tensor", "self", "edge._to_copy")
        zero_point, sums = found.quantise.tensor("zero_point"), known(correction.required("other"), self.ctx)
        weight = known(found.product.required("mat2"), self.ctx)
        if shift is None or number is None or zero_point is None or sums is None or weight is None:
            return
        same = self.is_same(number.required("self"), zero_point) and self.is_same(
            shift.required("other"), found.quantise.required("scale")
        )
        if same and np.array_equal(sums.reshape(-1), weight.sum(0, dtype=np.int64)):
            rewriter.replace(op, *found.as_numbers())


@dataclass(frozen=True)
class ScaledProduct:
    """A product of integers that its context makes one of numbers."""

    product: edge.EdgeOp
    quantise: edge.EdgeOp
    views: list[edge.EdgeOp]
    """What was between the quantise op and the product, first to last."""

    def as_numbers(self) -> tuple[list[edge.EdgeOp], Sequence[SSAValue]]:
        """The ops that compute the product of dequantised integers, and its value."""
        source, b = self.quantise, EdgeBuilder()
        value = b.call(
            "torchao.dequantize_affine",
            input=source.results[0],
            block_size=source.value("block_size"),
            scale=source.required("scale"),
            zero_point=source.tensor("zero_point"),
            input_dtype=source.value("output_dtype"),
            quant_min=source.value("quant_min"),
            quant_max=source.value("quant_max"),
            output_dtype=f32,
        )
        for view in self.views:
            value = b.call("view", self=value, size=view.value("size"))
        weight = b.call("_to_copy", self=self.product.required("mat2"), dtype=f32)
        result = b.call("mm", self=value, mat2=weight)
        return b.ops, [result]


class ScaleWeight(Raise):
    """mm(x, f32(w)) · scales → linear(x, dequantised wᵀ)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.EdgeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the multiplication."""
        product = made_by(op, "edge.mul.Tensor", "self", "edge.mm")
        if product is None or not product.results[0].has_one_use() or element_of(op.results[0]) != f32:
            return
        numbers, scales = self.integers(product.required("mat2")), known(op.required("other"), self.ctx)
        if numbers is None or scales is None or scales.size not in (1, numbers.shape[1]) or not (scales > 0).all():
            return
        by_channel = np.broadcast_to(scales.reshape(-1), (numbers.shape[1],)).astype(np.float32)
        constants = [
            edge.ConstantOp(make_dense(array, self.ctx, name), op.location)
            for array, name in ((numbers.T, "integers"), (by_channel, "scales"))
        ]
        b = EdgeBuilder()
        weight = b.call(
            "quantized_decomposed.dequantize_per_channel",
            input=constants[0].result,
            scales=constants[1].result,
            zero_points=None,
            axis=0,
            quant_min=-128,
            quant_max=127,
            dtype=i8,
        )
        result = b.call("linear", input=product.required("self"), weight=weight, bias=None)
        rewriter.replace(op, [*constants, *b.ops], [result])

    def integers(self, value: SSAValue) -> np.ndarray | None:
        """The 8-bit integers that a constant of fp32 numbers has, or was made from; None if it has others."""
        if is_call(value.owner, "edge._to_copy"):
            array = known(value.owner.required("self"), self.ctx)
            return array if array is not None and array.dtype == np.int8 else None
        array = known(value, self.ctx)
        if array is None or array.dtype != np.float32:
            return None
        integers = np.clip(array, -128, 127).astype(np.int8)
        return integers if np.array_equal(integers, array) else None


class AddBias(Raise):
    """view(linear(x, w)) + bias → view(linear(x, w, bias)), w being dequantised."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.EdgeOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the addition."""
        if not is_call(op, "edge.add.Tensor") or op.value("alpha") != 1:
            return
        source, views = without_views(op.required("self"))
        bias, linear = op.required("other"), source.owner
        if not is_call(linear, "edge.linear") or linear.tensor("bias") is not None:
            return
        channels = shape_of(source)[-1:]
        between = [source, *(view.results[0] for view in views)]
        if not all(value.has_one_use() and shape_of(value)[-1:] == channels for value in between):
            return
        if not is_call(linear.required("weight").owner, *DEQUANTISE) or shape_of(bias) != channels:
            return
        if known(bias, self.ctx) is None or element_of(bias) != f32:
            return
        b = EdgeBuilder()
        value = b.call("linear", input=linear.required("input"), weight=linear.required("weight"), bias=bias)
        for view in views:
            value = b.call("view", self=value, size=view.value("size"))
        rewriter.replace(op, b.ops, [value])


def is_call(op: object, *names: str) -> TypeGuard[edge.EdgeOp]:
    """Whether `op` is a call of one of the edge ops of these names."""
    return isinstance(op, edge.EdgeOp) and op.name in names


def made_by(op: edge.EdgeOp, name: str, operand: str, producer: str) -> edge.EdgeOp | None:
    """If `op` is a `name`, the `producer` op that makes its operand; None if something else does."""
    owner = op.required(operand).owner if op.name == name else None
    return owner if is_call(owner, producer) else None


def without_views(value: SSAValue) -> tuple[SSAValue, list[edge.EdgeOp]]:
    """What `value` is a view of, and the views in between, first to last."""
    views: list[edge.EdgeOp] = []
    while is_call(value.owner, "edge.view"):
        views.insert(0, value.owner)
        value = value.owner.required("self")
    return value, views


def has_no_zero_point(op: edge.EdgeOp, ctx: XirContext) -> bool:
    """Whether an op quantises with the zero point 0."""
    zero_point = op.tensor("zero_point")
    if zero_point is None:
        return True
    array, chooser = known(zero_point, ctx), zero_point.owner
    if array is not None:
        return not array.any()
    if not is_call(chooser, "edge.torchao.choose_qparams_affine"):
        return False
    low, high = integer_range(chooser)
    return chooser.value("mapping_type").startswith("SYMMETRIC") and int((low + high + 1) / 2) == 0
