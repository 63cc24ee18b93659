"""Convolutions and batch normalisation."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import rank_of, shape_of, u32s
from xir.ir.context import XirContext
from xir.transforms.legalizations.rule import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    RefusalError,
    operand,
    rule,
    static_array,
    static_name,
)


@rule("edge.convolution", "edge.conv2d")
def convolution(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """A convolution of any kind: input [N, C, H, W], weight [O, C / groups, kH, kW] ([C, O / groups, …] transposed)."""
    value, bias = operand(op, "input"), op.tensor("bias")
    if rank_of(value) != 4:
        raise RefusalError(f"its input has rank {rank_of(value)}; XNNPACK convolves two dimensions")
    weight, groups = b.weight(operand(op, "weight"), "weight"), op.value("groups")
    name = static_name(operand(op, "weight"))
    transposed = op.name == "edge.convolution" and op.value("transposed")
    channels = shape_of(value)[1]
    pad_height, pad_width = pair(op.value("padding"))
    properties: dict[str, Attribute] = {
        "padding": u32s((pad_height, pad_width, pad_height, pad_width)),
        "stride": u32s(pair(op.value("stride"))),
        "dilation": u32s(pair(op.value("dilation"))),
        "groups": IntegerAttr(groups, i32),
    }
    if transposed:
        op_class, filter_array = xnnpack.Deconv2dOp, deconv_filter(weight, groups)
        properties["adjustment"] = u32s(pair(op.value("output_padding")))
    elif groups > 1 and groups == channels:
        op_class, filter_array = xnnpack.DepthwiseConv2dOp, weight.transpose(1, 2, 3, 0)
    else:
        op_class, filter_array = xnnpack.Conv2dOp, weight.transpose(0, 2, 3, 1)
    operands = [b.transpose(value, NCHW_TO_NHWC), b.constant(filter_array, name)]
    if bias is not None:
        operands.append(b.constant(b.weight(bias, "bias"), static_name(bias)))
    batch, out_channels, height, width = shape_of(op.results[0])
    result = b.node(op_class, operands, (batch, height, width, out_channels), properties)
    return b.transpose(result, NHWC_TO_NCHW)


def pair(values: tuple[int, ...]) -> tuple[int, int]:
    """ATen lets one number stand for both dimensions."""
    return (values[0], values[0]) if len(values) == 1 else (values[0], values[1])


def deconv_filter(weight: np.ndarray, groups: int) -> np.ndarray:
    """[I, O / groups, kH, kW] as [O, kH, kW, I / groups]."""
    in_channels, group_out, height, width = weight.shape
    grouped = weight.reshape(groups, in_channels // groups, group_out, height, width)
    return grouped.transpose(0, 2, 3, 4, 1).reshape(groups * group_out, height, width, in_channels // groups)


@rule("edge.batch_norm", "edge._native_batch_norm_legit_no_training")
def batch_norm(op: edge.EdgeOp, b: NodeBuilder) -> list[SSAValue]:
    """self·scale + shift by channel; what `fold-batch-norm` could not fold into a convolution."""
    scale, shift = batch_norm_affine(op, b.ctx)
    value = operand(op, "input")
    shape = (-1, *(1 for _ in range(rank_of(value) - 2)))
    product = b.binary("multiply", value, b.constant(scale.reshape(shape), "batch_norm.scale"))
    return [b.binary("add", product, b.constant(shift.reshape(shape), "batch_norm.shift"))]


def batch_norm_affine(op: edge.EdgeOp, ctx: XirContext) -> tuple[np.ndarray, np.ndarray]:
    """(scale, shift), fp32 by channel, of a batch norm in inference; computed in double.

    RefusalError if it is not in inference, or its parameters are not static.
    """
    if op.name == "edge.batch_norm" and op.value("training"):
        raise RefusalError("it computes statistics from its input", "export the module in eval() mode")
    if any(result.first_use is not None for result in op.results[1:]):
        raise RefusalError("its saved statistics are used")
    mean, variance, weight, bias = (
        None if value is None else static_array(value, what, ctx).astype(np.float64)
        for what in ("running_mean", "running_var", "weight", "bias")
        for value in (op.tensor(what),)
    )
    if mean is None or variance is None:
        raise RefusalError("it keeps no running statistics")
    scale = 1.0 / np.sqrt(variance + op.value("eps"))
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    if bias is not None:
        shift = shift + bias
    return scale.astype(np.float32), shift.astype(np.float32)
