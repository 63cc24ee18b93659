"""Compute by other nodes what processors' kernels on integers round in different ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, TensorType, f32, i8, i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of, u32s
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import dense_of_storage, make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import op_rewrite_pattern, rewrite_once
from xir.ir.walking import ops_in
from xir.transforms.analysis.static_tensor import dequantized


@dataclass
class MultiplyFloats(RewritePattern):
    """multiply(x, y) on 8-bit numbers → quantise(multiply(dequantise(x), dequantise(y)))."""

    ctx: XirContext

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.BinaryOp, rewriter: PatternRewriter, /) -> None:
        """Bounds of the node become a clamp of its integers: fp32 numbers within bounds may be 0 or −0."""
        if op.kind.data != "multiply" or not isinstance(element_type(op.output), UniformType):
            return
        operands = {value: self._number(value, op, rewriter) for value in dict.fromkeys((op.lhs, op.rhs))}
        product = xnnpack.BinaryOp.create(
            operands=[operands[op.lhs], operands[op.rhs]],
            result_types=[TensorType(f32, shape_of(op.output))],
            properties={"kind": op.kind},
        )
        made: list[xnnpack.NodeOp] = [product]
        made.append(xnnpack.ConvertOp.create(operands=[product.output], result_types=[op.output.type]))
        if op.is_bounded:
            bounds = {name: op.properties[name] for name in ("output_min", "output_max") if name in op.properties}
            integers = made[-1].results[0]
            made.append(xnnpack.ClampOp.create(operands=[integers], result_types=[integers.type], properties=bounds))
        for each in made:
            inherit(each, op)
        rewriter.replace(op, made, list(made[-1].results))

    def _number(self, value: SSAValue, op: xnnpack.BinaryOp, rewriter: PatternRewriter) -> SSAValue:
        """A value in fp32."""
        element = element_type(value)
        assert isinstance(element, UniformType)
        if isinstance(source := value.owner, xnnpack.ConstantOp):
            array = dequantized(storage_array(source.value, self.ctx, source), element)
            made: xnnpack.ConstantOp | xnnpack.ConvertOp = xnnpack.ConstantOp(make_dense(array, self.ctx, "factor"))
            inherit(made, source)
        else:
            made = xnnpack.ConvertOp.create(operands=[value], result_types=[TensorType(f32, shape_of(value))])
            inherit(made, op)
        return rewriter.insert(made).output


@dataclass
class SumByFilter(RewritePattern):
    """global_average_pooling2d(x) on 8-bit numbers → depthwise_conv2d(x, ones / (H·W))."""

    ctx: XirContext

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.GlobalAveragePooling2dOp, rewriter: PatternRewriter, /) -> None:
        """Images of a known size alone have such a filter."""
        element = element_type(op.output)
        if not isinstance(element, UniformType) or not element.is_signed or len(shape_of(op.input)) != 4:
            return
        batch, height, width, channels = shape_of(op.input)
        if DYNAMIC_INDEX in (height, width, channels):
            return
        ones = dense_of_storage(np.broadcast_to(np.int8(1), (1, height, width, channels)), i8, self.ctx, "ones")
        scaled = UniformType.per_tensor(i8, f32, 1 / (height * width))
        filter = xnnpack.ConstantOp(ones, TensorType(scaled, (1, height, width, channels)))
        bounds = {name: op.properties[name] for name in ("output_min", "output_max") if name in op.properties}
        sums = xnnpack.DepthwiseConv2dOp(
            operands=[op.input, filter.output, None],
            result_types=[TensorType(element, (batch, 1, 1, channels))],
            properties={"groups": IntegerAttr(channels, i32), **bounds},
        )
        made: list[xnnpack.NodeOp | xnnpack.ConstantOp] = [filter, sums]
        if op.output.type != sums.output.type:
            sizes = [0 if size == DYNAMIC_INDEX else size for size in shape_of(op.output)]
            properties = {"new_shape": u32s(sizes)}
            made.append(
                xnnpack.StaticReshapeOp.create(
                    operands=[sums.output], result_types=[op.output.type], properties=properties
                )
            )
        for each in made:
            inherit(each, op)
        rewriter.replace(op, made, list(made[-1].results))


@dataclass(frozen=True)
class MakeBitExactPass(XirPass):
    """Compute products and averages of 8-bit numbers by nodes that all processors round alike.

    XNNPACK's Arm kernels multiply a product by a scale of 31 bits, those of x86 by a scale in fp32. A product of two
    fp32 numbers is rounded once everywhere, and so is its conversion to integers. A global average is scaled and moved
    by a fraction, with or without FMA; a depthwise convolution with ones scales its sum by one product.
    `check-bit-exact` refuses what remains; `--bit-exact` of `xir-aot` runs both.

    Before:
    ```mlir
    %2 = xnnpack.binary multiply %0, %1
         : tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5>>
           -> tensor<4x!quant.uniform<i8:f32, 1.0>>
    ```
    After:
    ```mlir
    %3 = xnnpack.convert %0 : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %4 = xnnpack.convert %1 : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %5 = xnnpack.binary multiply %3, %4 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.convert %5 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.REQUANTIZED
    proved: ClassVar[str] = (
        "products of all integers, with bounds, and averages of two and four pixels, where scales are powers of 2"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every subgraph of the module."""
        for subgraph in list(ops_in(op, xnnpack.SubgraphOp)):
            rewrite_once(subgraph.body.block, MultiplyFloats(ctx))
            rewrite_once(subgraph.body.block, SumByFilter(ctx))
