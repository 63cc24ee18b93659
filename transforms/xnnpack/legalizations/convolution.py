"""Convolutions and batch normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.edge.families import output_padding_of
from xir.dialects.xnnpack.base import rank_of, u32s
from xir.transforms.analysis.batch_norm import NO_RUNNING_STATISTICS, batch_norm_affine
from xir.transforms.analysis.calls import call, constant, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import NOT_STATIC, StaticTensor, is_static
from xir.transforms.xnnpack.legalizations.rule import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    Quantized,
    rule,
)
from xir.transforms.xnnpack.legalizations.slicing import pad_with

TOO_MANY_DIMENSIONS = Refusal(
    "it convolves {count} dimensions; XNNPACK convolves two at most",
    example=call(
        "edge.convolution",
        input=tensor(1, 2, 4, 4, 4),
        weight=constant(3, 2, 1, 1, 1),
        stride=(1, 1, 1),
        padding=(0, 0, 0),
        dilation=(1, 1, 1),
        transposed=False,
        output_padding=(0, 0, 0),
        groups=1,
    ),
)


@rule(quantized=Quantized.WEIGHTED, refuses=(TOO_MANY_DIMENSIONS, NOT_STATIC))
def convolution(op: edge.ConvolutionOp, b: NodeBuilder) -> SSAValue:
    """A convolution of any kind over one or two dimensions; one is an image of height 1.

    input [N, C, (H,) W], or without N; weight [O, C / groups, (kH,) kW], transposed [C, O / groups, (kH,) kW].
    """
    value, bias = op.input, op.bias
    groups, output_padding = b.integer(op.groups), output_padding_of(op)
    weight = b.weight(op.weight, "weight")
    if weight.ndim not in (3, 4):
        raise TOO_MANY_DIMENSIONS(count=weight.ndim - 2)
    dims = weight.ndim - 2
    image = b.reshape(value, image_shape(b, value, dims))
    weight = weight.reshape(*weight.shape[:2], -1, weight.shape[-1])

    pad_height, pad_width = window(b.integers(op.padding), dims, 0)
    padding, stride = (pad_height, pad_width, pad_height, pad_width), window(b.integers(op.stride), dims, 1)
    adjustment = (0, 0)
    if output_padding is not None:
        image, padding, adjustment = with_smaller_adjustment(
            b, image, padding, window(b.integers(output_padding), dims, 0), stride
        )
    properties: dict[str, Attribute] = {
        "padding": u32s(padding),
        "stride": u32s(stride),
        "dilation": u32s(window(b.integers(op.dilation), dims, 1)),
        "groups": IntegerAttr(groups, i32),
    }
    if output_padding is not None:
        op_class, filter_array = xnnpack.Deconv2dOp, deconv_filter(weight, groups)
        properties["adjustment"] = u32s(adjustment)
    elif groups > 1 and groups == b.shape(image)[1]:
        op_class, filter_array = xnnpack.DepthwiseConv2dOp, weight.transpose(1, 2, 3, 0)
    else:
        op_class, filter_array = xnnpack.Conv2dOp, weight.transpose(0, 2, 3, 1)
    operands = [b.transpose(image, NCHW_TO_NHWC), b.static(filter_array)]
    if bias is not None and is_static(bias):
        operands.append(b.bias(bias))
    result = b.node(op_class, operands, properties)
    if bias is not None and len(operands) == 2:
        result = b.binary("add", result, bias)
    return b.reshape(b.transpose(result, NHWC_TO_NCHW), b.shape(op.results[0]))


def with_smaller_adjustment(
    b: NodeBuilder,
    image: SSAValue,
    padding: tuple[int, int, int, int],
    adjustment: tuple[int, int],
    stride: tuple[int, int],
) -> tuple[SSAValue, tuple[int, int, int, int], tuple[int, int]]:
    """The same transposed convolution with adjustments below the strides, which is all that XNNPACK takes.

    An adjustment makes the result longer. So does cutting less off its end, or a zero behind the image.
    """
    ends, zeros, kept = [padding[2], padding[1]], [0, 0], list(adjustment)
    for axis in (0, 1):
        if adjustment[axis] >= stride[axis]:
            longer = ends[axis] - adjustment[axis]
            zeros[axis] = max(-(longer // stride[axis]), 0)
            ends[axis], kept[axis] = longer + zeros[axis] * stride[axis], 0
    image = pad_with(b, image, (0, 0, 0, 0), (0, 0, *zeros), 0.0)
    return image, (padding[0], ends[1], ends[0], padding[3]), (kept[0], kept[1])


def image_shape(b: NodeBuilder, value: SSAValue, dims: int) -> tuple[int, int, int, int]:
    """The NCHW shape of an activation with `dims` spatial dimensions, which may lack the batch."""
    shape = b.shape(value)
    batch, channels = shape[-dims - 2] if len(shape) > dims + 1 else 1, shape[-dims - 1]
    return batch, channels, 1 if dims == 1 else shape[-2], shape[-1]


def window(values: Sequence[int], dims: int, neutral: int) -> tuple[int, int]:
    """(height, width) of a window property of a 1-D or 2-D op; ATen lets one number stand for both."""
    if dims == 1:
        return neutral, values[0]
    return (values[0], values[0]) if len(values) == 1 else (values[0], values[1])


def deconv_filter(weight: StaticTensor, groups: int) -> StaticTensor:
    """[I, O / groups, kH, kW] as [O, kH, kW, I / groups]."""
    in_channels, group_out, height, width = weight.shape
    grouped = weight.reshape(groups, in_channels // groups, group_out, height, width)
    return grouped.transpose(0, 2, 3, 4, 1).reshape(groups * group_out, height, width, in_channels // groups)


@rule(refuses=(NO_RUNNING_STATISTICS, NOT_STATIC))
def batch_norm(op: edge.NativeBatchNormLegitNoTrainingOp, b: NodeBuilder) -> list[SSAValue]:
    """self·scale + shift by channel; what `fold-batch-norm` could not fold into a convolution."""
    scale, shift = batch_norm_affine(op, b.ctx)
    value = op.input
    shape = (-1, *(1 for _ in range(rank_of(value) - 2)))
    product = b.binary("multiply", value, b.constant(scale.reshape(shape), value, "batch_norm.scale"))
    return [b.binary("add", product, b.constant(shift.reshape(shape), value, "batch_norm.shift"))]
