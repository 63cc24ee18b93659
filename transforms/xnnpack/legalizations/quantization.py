"""Quantise and dequantise ops.

Inside a subgraph a quantised value has its parameters in its type, and both ops are conversions. Between edge ops it is
a plain tensor of integers; a cast stands wherever a rule crosses that border.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type, bf16, f16, f32, f64, i8, i16, i64
from xdsl.ir import SSAValue

from xir.dialects import xnnpack
from xir.dialects.edge.families import ChooseQparams, Dequantize, Quantize
from xir.dialects.quant import UniformType, storage_limits
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.quantization import expect_normal
from xir.ir.context import XirContext
from xir.transforms.analysis.calls import call, numbers, tensor
from xir.transforms.analysis.quantization_parameters import parameters
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import is_static, range_of, stored_as
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder, rule

ROW_OF_ONE = 1
"""Rows of the last dimension; `fold-qdq` knows the node that reads them, and gives it the rows that it wants."""


SCALE_AT_RUN_TIME = Refusal(
    "its scale is computed at run time",
    "let choose_qparams of the same tensor compute it",
    example=call(
        "edge.quantized_decomposed.quantize_per_tensor.tensor",
        input=tensor(2, 3),
        scale=tensor(1, element=f64),
        zero_point=tensor(1, element=i64),
        quant_min=-128,
        quant_max=127,
        dtype=i8,
    ),
)
SCALES_BY_AXIS = Refusal(
    "its scales differ along a dimension; XNNPACK quantises activations by tensor",
    example=call(
        "edge.quantized_decomposed.quantize_per_channel",
        input=tensor(2, 3),
        scales=numbers([0.5, 0.25]),
        zero_points=numbers([0, 0]),
        axis=0,
        quant_min=-128,
        quant_max=127,
        dtype=i8,
    ),
)
NOT_IN_8_BITS = Refusal(
    "XNNPACK quantises activations in 8 bits, not to {storage}",
    example=call(
        "edge.quantized_decomposed.dequantize_per_tensor",
        input=tensor(4, element=i16),
        scale=0.5,
        zero_point=3,
        quant_min=-32768,
        quant_max=32767,
        dtype=i16,
    ),
)
NOT_TO_F32 = Refusal(
    "XNNPACK dequantises to f32, not to {element}",
    example=call(
        "edge.quantized_decomposed.dequantize_per_tensor",
        input=tensor(4, element=i8),
        scale=0.5,
        zero_point=3,
        quant_min=-128,
        quant_max=127,
        dtype=i8,
        out_dtype=f16,
    ),
)
READ_OTHERWISE = Refusal(
    "its integers are written or read elsewhere with another scale or zero point",
    example="""
func.func @forward(%x: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = 3 : i64,
         quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = 4 : i64,
         quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
""",
)


QUANTIZED_TYPE = "scales are part of the types of XNNPACK's values, so that it is a conversion"


def activation_type(op: Quantize | Dequantize, ctx: XirContext) -> UniformType:
    """The type of the integers that an op writes or reads; RefusalError if XNNPACK has no activations of it."""
    element = parameters(op, ctx)
    if element is None:
        raise SCALE_AT_RUN_TIME()
    if not element.is_per_tensor:
        raise SCALES_BY_AXIS()
    if element.storage.width.data != 8:
        raise NOT_IN_8_BITS(storage=element.storage)
    expect_normal(element)
    return element


@rule(refuses=(SCALE_AT_RUN_TIME, SCALES_BY_AXIS, NOT_IN_8_BITS), overrides=QUANTIZED_TYPE)
def quantize(op: Quantize, b: NodeBuilder) -> SSAValue:
    """round(input / scale) + zero_point, clamped to the range of the integers."""
    element = activation_type(op, b.ctx)
    value = op.operands[0]
    low, high = range_of(element)
    whole = storage_limits(element.storage)
    bounds = [
        None if end == limit else (end - element.zero_point) * element.scale
        for end, limit in zip((low, high), whole, strict=True)
    ]
    if bounds != [None, None]:
        value = b.clamp(value, *bounds)
    return b.cast(b.quantize(value, stored_as(element, element.storage)), element.storage)


@rule(refuses=(NOT_TO_F32, READ_OTHERWISE, SCALE_AT_RUN_TIME, SCALES_BY_AXIS, NOT_IN_8_BITS), overrides=QUANTIZED_TYPE)
def dequantize(op: Dequantize, b: NodeBuilder) -> SSAValue:
    """scale · (input − zero_point)."""
    result = element_type(op.results[0])
    source = quantized_at_run_time(op)
    if source is not None and result in (f32, f16, bf16):
        return b.convert(rounded_at_run_time(source, b), result)
    if not isinstance(result, Float32Type):
        raise NOT_TO_F32(element=result)
    if is_static(op.results[0]):
        return b.static(b.weight(op.results[0], "input"))
    element = activation_type(op, b.ctx)
    value = op.operands[0]
    for other in readers_and_writers(value):
        found = parameters(other, b.ctx)
        if found is None or stored_as(found, found.storage) != stored_as(element, element.storage):
            raise READ_OTHERWISE()
    return b.dequantize(b.cast(value, stored_as(element, element.storage)))


def rounded_at_run_time(value: SSAValue, b: NodeBuilder) -> SSAValue:
    """What is left in fp32 of numbers that are quantised to 8 bits with scales found at run time."""
    return b.dequantize(b.quantize(b.convert(value, f32), xnnpack.DynamicType.of(ROW_OF_ONE)))


def readers_and_writers(value: SSAValue) -> list[Quantize | Dequantize]:
    """The quantise and dequantise ops that give integers their meaning."""
    ops = [use.operation for use in value.uses if use.index == 0] + [value.owner]
    return [op for op in ops if isinstance(op, Quantize | Dequantize) and op.operands]


def quantized_at_run_time(op: Dequantize) -> SSAValue | None:
    """The numbers that an op gives back which were quantised with a scale of their own, found at run time."""
    writer = op.operands[0].owner
    if not isinstance(writer, Quantize) or len(writer.operands) < 2:
        return None
    chooser = writer.operands[1].owner
    if not isinstance(chooser, ChooseQparams):
        return None
    same = chooser.operands[0] is writer.operands[0] and list(op.operands[1:]) == list(writer.operands[1:])
    return writer.operands[0] if same else None
