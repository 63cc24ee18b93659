"""Weights of 4 bits in half the memory of PyTorch's int8: an operator for models, and its form in the IR."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from xdsl.dialects.builtin import DenseResourceAttr, StringAttr, f32, i8
from xdsl.ir import Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import shape_of, tensor_type
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import LocationAttr
from xir.ir.nibbles import Packed, unpack


@torch.library.custom_op("xir::dequantize_int4", mutates_args=())
def dequantize_int4(packed: Tensor, scales: Tensor, group_size: int) -> Tensor:
    """A weight [channels, inputs], fp32: integers from −8 to 7 times the scale [channels, groups] of their group.

    `packed` is uint8 [channels, inputs / 2] as `xir.ir.nibbles` has it; inputs are a multiple of the group size. Scales
    are of any float type.
    """
    channels, half = packed.shape
    integers = torch.from_numpy(unpack(Packed(packed.numpy(), (channels, 2 * half))).astype("float32"))
    return (integers.reshape(channels, -1, group_size) * scales[..., None]).reshape(channels, -1)


@dequantize_int4.register_fake
def _(packed: Tensor, scales: Tensor, group_size: int) -> Tensor:
    return scales.new_empty((packed.shape[0], 2 * packed.shape[1]), dtype=torch.float32)


DEQUANTIZE_INT4: Any = torch.ops.xir.dequantize_int4.default


def import_dequantize_int4(
    packed: SSAValue, scales: SSAValue, group_size: int, ctx: XirContext, location: LocationAttr
) -> list[Operation]:
    """The ops that a call becomes: a constant of int8, of which the blob store holds the packed form, dequantised.

    DiagnosticError for integers that are computed.
    """
    owner = packed.owner
    if not isinstance(owner, edge.ConstantOp) or not isinstance(owner.value, DenseResourceAttr):
        raise DiagnosticError(location, "packed integers are a parameter or buffer of the module")
    channels, half = shape_of(packed)
    name = owner.value.resource_handle.data
    content = Packed(ctx.blobs.get(name).reshape(channels, half), (channels, 2 * half))
    key = ctx.blobs.add(f"{name}.integers", content)
    elements = DenseResourceAttr(StringAttr(key), tensor_type(i8, content.shape))
    integers = edge.ConstantOp(elements, owner.location)
    dequantized = edge.QuantizedDecomposedDequantizePerChannelGroupOp(
        input=integers.result,
        scales=scales,
        zero_points=None,
        quant_min=-8,
        quant_max=7,
        dtype=i8,
        group_size=group_size,
        output_dtype=f32,
    )
    dequantized.location = location
    return [integers, dequantized]
