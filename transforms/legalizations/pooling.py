"""Pooling over windows."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import rank_of, shape_of, u32s
from xir.transforms.legalizations.convolution import pair
from xir.transforms.legalizations.reduction import image_mean
from xir.transforms.legalizations.rule import (
    NCHW_TO_NHWC,
    NHWC_TO_NCHW,
    NodeBuilder,
    RefusalError,
    operand,
    rule,
    static_shape,
)


@rule("edge.max_pool2d", "edge.max_pool2d_with_indices")
def max_pool2d(op: edge.EdgeOp, b: NodeBuilder) -> list[SSAValue]:
    """The largest element of each window."""
    if any(result.first_use is not None for result in op.results[1:]):
        raise RefusalError("its indices are used")
    value = operand(op, "self")
    window = Window(op)
    result = b.node(
        xnnpack.MaxPooling2dOp,
        [b.transpose(value, NCHW_TO_NHWC)],
        nhwc_shape(op.results[0]),
        {
            "kernel": u32s(window.kernel),
            "stride": u32s(window.stride),
            "dilation": u32s(pair(op.value("dilation"))),
            "padding": u32s(window.padding_to_cover(value, op.results[0], pair(op.value("dilation")))),
        },
    )
    return [b.transpose(result, NHWC_TO_NCHW)]


@rule("edge.avg_pool2d")
def avg_pool2d(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """The mean of each window. XNNPACK never counts the padding."""
    value, window = operand(op, "self"), Window(op)
    if op.value("divisor_override") is not None:
        raise RefusalError("XNNPACK divides by the number of elements, not by divisor_override")
    if op.value("count_include_pad") and any(window.padding):
        raise RefusalError("XNNPACK does not count the padding as elements", "pass count_include_pad=False")
    padding = window.padding_to_cover(value, op.results[0], (1, 1))
    result = b.node(
        xnnpack.AveragePooling2dOp,
        [b.transpose(value, NCHW_TO_NHWC)],
        nhwc_shape(op.results[0]),
        {"kernel": u32s(window.kernel), "stride": u32s(window.stride), "padding": u32s(padding)},
    )
    return b.transpose(result, NHWC_TO_NCHW)


@rule("edge.adaptive_avg_pool2d", "edge._adaptive_avg_pool2d")
def adaptive_avg_pool2d(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """The mean of each cell of a grid that divides the image evenly."""
    value = operand(op, "self")
    if rank_of(value) != 4:
        raise RefusalError(f"its input has rank {rank_of(value)}; XNNPACK pools batches of images")
    if tuple(op.value("output_size")) == (1, 1):
        return image_mean(b, value, keepdim=True)
    _, _, height, width = static_shape(value, "input")
    out_height, out_width = op.value("output_size")
    if height % out_height or width % out_width:
        raise RefusalError(f"the output {out_height}x{out_width} does not divide the input {height}x{width} evenly")
    kernel = (height // out_height, width // out_width)
    if kernel == (1, 1):
        return value
    result = b.node(
        xnnpack.AveragePooling2dOp,
        [b.transpose(value, NCHW_TO_NHWC)],
        nhwc_shape(op.results[0]),
        {"kernel": u32s(kernel), "stride": u32s(kernel)},
    )
    return b.transpose(result, NHWC_TO_NCHW)


def nhwc_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of an NCHW value once it is NHWC."""
    batch, channels, height, width = shape_of(value)
    return batch, height, width, channels


class Window:
    """A pooling op's window in ATen's terms: kernel, stride (the kernel if empty), symmetric padding."""

    def __init__(self, op: edge.EdgeOp):
        if rank_of(operand(op, "self")) != 4:
            raise RefusalError(f"its input has rank {rank_of(operand(op, 'self'))}; XNNPACK pools batches of images")
        self.kernel = pair(op.value("kernel_size"))
        self.stride = pair(op.value("stride")) if op.value("stride") else self.kernel
        self.padding = pair(op.value("padding"))
        if self.kernel == (1, 1):
            raise RefusalError("a window of 1x1 pools nothing, and XNNPACK refuses it")

    def padding_to_cover(self, value: SSAValue, result: SSAValue, dilation: tuple[int, int]) -> tuple[int, ...]:
        """(top, right, bottom, left) with which the windows give exactly the result's size.

        With `ceil_mode` the last window may start inside and end outside: XNNPACK rounds down, so the padding grows.
        """
        height, width = static_shape(value, "input")[2:]
        out_height, out_width = static_shape(result, "result")[2:]

        def after(axis: int, size: int, out: int) -> int:
            reach = (out - 1) * self.stride[axis] + dilation[axis] * (self.kernel[axis] - 1) + 1
            return max(self.padding[axis], reach - size - self.padding[axis])

        top, left = self.padding
        return top, after(1, width, out_width), after(0, height, out_height), left
