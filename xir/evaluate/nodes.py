"""The meaning of the xnnpack dialect, node by node, without XNNPACK.

Each function computes one node on torch tensors in physical order, from the op's definition alone. Slow and plain: it
is what rules, passes and the runtime are compared with. Operands are numbers, of any floating-point type, or integers
where the IR says i32; what is quantised has been made numbers before, and the results become integers behind
(`xir.evaluate.quantized`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from itertools import product

import torch
import torch.nn.functional as F  # noqa: N812 (the name everybody knows it by)
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack import kinds
from xir.dialects.xnnpack.base import element_type, ints
from xir.importer.interpreter import aten_operator

Tensor = torch.Tensor


def aten_functions(rows: Sequence[kinds.Kind]) -> dict[str, Callable[..., Tensor]]:
    """What the kinds compute that mean exactly one ATen op."""
    return {row.kind: aten_operator(edge.OPS[row.edge[0]].row.schema) for row in rows if row.edge}


UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    **aten_functions(kinds.UNARY),
    "approxgelu": lambda x: F.gelu(x, approximate="tanh"),
    "bankers_rounding": torch.round,
    "gelu": F.gelu,
    "sign": torch.sign,
}

BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    **aten_functions(kinds.BINARY),
    "add": torch.add,
    "modulus": torch.fmod,
    "pow": torch.pow,
    "prelu": lambda x, slope: torch.where(x > 0, x, x * slope),
    "squared_difference": lambda x, y: (x - y) ** 2,
    "subtract": torch.sub,
}

REDUCE: dict[str, Callable[[Tensor, tuple[int, ...], bool], Tensor]] = {
    "max": torch.amax,
    "mean": torch.mean,
    "mean_squared": lambda x, axes, keep: (x * x).mean(axes, keep),
    "min": torch.amin,
    "sum": torch.sum,
    "sum_squared": lambda x, axes, keep: (x * x).sum(axes, keep),
}


@singledispatch
def evaluate(op: Operation, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """The results of one node."""
    raise NotImplementedError(op.name)


def bounded(op: xnnpack.BoundedOp, value: Tensor) -> tuple[Tensor]:
    """A value within the node's bounds."""
    return (value if op.output_min is None and op.output_max is None else value.clamp(*op.bounds),)


def images(value: Tensor) -> Tensor:
    """[N, H, W, C] as torch wants it."""
    return value.permute(0, 3, 1, 2)


def physical(value: Tensor) -> Tensor:
    """[N, C, H, W] as XNNPACK has it."""
    return value.permute(0, 2, 3, 1).contiguous()


def padded(value: Tensor, padding: Sequence[int], number: float) -> Tensor:
    """An NCHW value with (top, right, bottom, left) around it."""
    top, right, bottom, left = padding
    return F.pad(value, (left, right, top, bottom), value=number)


@evaluate.register
def _(op: xnnpack.UnaryOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return (UNARY[op.kind.data](operands[0]),)


@evaluate.register
def _(op: xnnpack.BinaryOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return bounded(op, BINARY[op.kind.data](*operands))


@evaluate.register
def _(op: xnnpack.ClampOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return bounded(op, operands[0])


@evaluate.register
def _(op: xnnpack.EluOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    (x,) = operands
    return (torch.where(x > 0, x, op.alpha.value.data * torch.expm1(x)),)


@evaluate.register
def _(op: xnnpack.LeakyReluOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    (x,) = operands
    return (torch.where(x > 0, x, op.negative_slope.value.data * x),)


@evaluate.register
def _(op: xnnpack.ConvertOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    (x,) = operands
    if element_type(op.output) == i32:
        return (x.round().to(torch.int32) if x.is_floating_point() else x,)
    return (x if x.is_floating_point() else x.double(),)


@evaluate.register
def _(op: xnnpack.CopyOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return (operands[0].clone(),)


@evaluate.register
def _(op: xnnpack.Conv2dOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    x, weight, *bias = operands
    return bounded(op, convolved(op, x, weight.permute(0, 3, 1, 2), bias))


@evaluate.register
def _(op: xnnpack.DepthwiseConv2dOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    x, weight, *bias = operands
    return bounded(op, convolved(op, x, weight.permute(3, 0, 1, 2), bias))


def convolved(op: xnnpack.ConvolutionOp, x: Tensor, weight: Tensor, bias: Sequence[Tensor]) -> Tensor:
    """A convolution of [N, H, W, C] with a filter in torch's order."""
    x = padded(images(x), ints(op.padding), 0.0)
    return physical(
        convolve(x, weight, *bias, stride=ints(op.stride), dilation=ints(op.dilation), groups=op.groups.value.data)
    )


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """`conv2d` without padding. For a depthwise one torch takes ten times as long in fp64."""
    channels = x.shape[1]
    if groups != channels or len(weight) != channels:
        return F.conv2d(x, weight, bias, stride=tuple(stride), dilation=tuple(dilation), groups=groups)
    size = [
        (d - b * (k - 1) - 1) // s + 1
        for d, k, s, b in zip(x.shape[2:], weight.shape[2:], stride, dilation, strict=True)
    ]
    result = torch.zeros((len(x), channels, *size), dtype=x.dtype)
    for i, j in product(*map(range, weight.shape[2:])):
        rows = slice(i * dilation[0], i * dilation[0] + (size[0] - 1) * stride[0] + 1, stride[0])
        columns = slice(j * dilation[1], j * dilation[1] + (size[1] - 1) * stride[1] + 1, stride[1])
        result.addcmul_(x[:, :, rows, columns], weight[:, 0, i, j].reshape(1, -1, 1, 1).expand_as(result))
    return result if bias is None else result + bias.reshape(-1, 1, 1)


@evaluate.register
def _(op: xnnpack.Deconv2dOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    x, weight, *bias = operands
    groups = op.groups.value.data
    # [O, kH, kW, I / groups] to torch's [I, O / groups, kH, kW].
    blocks = weight.reshape(groups, -1, *weight.shape[1:]).permute(0, 4, 1, 2, 3)
    filters = blocks.reshape(-1, *blocks.shape[2:])
    full = F.conv_transpose2d(images(x), filters, stride=ints(op.stride), dilation=ints(op.dilation), groups=groups)
    top, right, bottom, left = ints(op.padding)
    below, beside = ints(op.adjustment)
    grown = F.pad(full, (0, beside, 0, below))
    height, width = grown.shape[2:]
    cut = physical(grown[:, :, top : height - bottom, left : width - right])
    return bounded(op, cut + bias[0] if bias else cut)


@evaluate.register
def _(op: xnnpack.FullyConnectedOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    x, weight, *bias = operands
    product = x @ (weight.T if op.transpose_weights is None else weight)
    return bounded(op, product + bias[0] if bias else product)


@evaluate.register
def _(op: xnnpack.BatchMatrixMultiplyOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    lhs, rhs = operands
    return (lhs @ (rhs if op.transpose_b is None else rhs.transpose(-1, -2)),)


@evaluate.register
def _(op: xnnpack.SoftmaxOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return (operands[0].softmax(-1),)


def windows(x: Tensor, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Tensor:
    """The windows of an NCHW value: [N, C, out H, out W, kH · kW]."""
    size = [(d - b * (k - 1) - 1) // s + 1 for d, k, s, b in zip(x.shape[2:], kernel, stride, dilation, strict=True)]
    taps = [
        x[:, :, i * dilation[0] :, j * dilation[1] :][:, :, :: stride[0], :: stride[1]][:, :, : size[0], : size[1]]
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]
    return torch.stack(taps, dim=-1)


@evaluate.register
def _(op: xnnpack.MaxPooling2dOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    x = padded(images(operands[0]), ints(op.padding), float("-inf"))
    pooled = windows(x, ints(op.kernel), ints(op.stride), ints(op.dilation)).amax(-1)
    return bounded(op, physical(pooled))


@evaluate.register
def _(op: xnnpack.AveragePooling2dOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    x = images(operands[0])
    sums, counts = (
        windows(padded(each, ints(op.padding), 0.0), ints(op.kernel), ints(op.stride), (1, 1)).sum(-1)
        for each in (x, torch.ones_like(x))
    )
    return bounded(op, physical(sums / counts))


@evaluate.register
def _(op: xnnpack.ArgMaxPooling2dOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    x = padded(images(operands[0]), ints(op.padding), float("-inf"))
    values, indices = windows(x, ints(op.kernel), ints(op.kernel), (1, 1)).max(-1)
    return physical(values), physical(indices).to(torch.int32)


@evaluate.register
def _(op: xnnpack.GlobalAveragePooling2dOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return bounded(op, operands[0].mean((-3, -2), keepdim=op.keep_dims is not None))


@evaluate.register
def _(op: xnnpack.StaticReduceOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return (REDUCE[op.kind.data](operands[0], ints(op.axes), op.keep_dims is not None),)


@evaluate.register
def _(op: xnnpack.StaticTransposeOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return (operands[0].permute(ints(op.perm)).contiguous(),)


@evaluate.register
def _(op: xnnpack.StaticReshapeOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return (operands[0].reshape([size or -1 for size in ints(op.new_shape)]),)


@evaluate.register
def _(op: xnnpack.StaticSliceOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    pairs = zip(ints(op.offsets), ints(op.sizes), strict=True)
    box = tuple(slice(start, start + size if size else None) for start, size in pairs)
    return (operands[0][box],)


@evaluate.register
def _(op: xnnpack.StaticConstantPadOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    pairs = list(zip(ints(op.pre_paddings), ints(op.post_paddings), strict=True))
    flat = [amount for pair in reversed(pairs) for amount in pair]
    return (F.pad(operands[0], flat, value=op.padding_value.value.data),)


@evaluate.register
def _(op: xnnpack.StaticResizeBilinear2dOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    size = (op.new_height.value.data, op.new_width.value.data)
    aligned = op.align_corners is not None
    return (physical(F.interpolate(images(operands[0]), size, mode="bilinear", align_corners=aligned)),)


@evaluate.register
def _(op: xnnpack.ConcatenateOp, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return (torch.cat(list(operands), op.axis.value.data),)
