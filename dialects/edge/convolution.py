"""Convolutions. Weights are [out, in / groups, *kernel]; of a transposed one [in, out / groups, *kernel]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xir.ir.symbolic_size import floor_div

from .accessors import Size
from .base import row
from .types import element_of, known, same_dim, shape_of, shape_text, tensor_type

if TYPE_CHECKING:
    from . import ops
    from .families import Convolution


def _spread(values: Sequence[object], count: int) -> list[int]:
    """One value for every spatial dimension, if only one is given."""
    sizes = [known(v) for v in values]
    return sizes * count if len(sizes) == 1 else sizes


def _convolution(op: ops.ConvolutionOp) -> Sequence[Attribute | None]:
    return _convolved(op, op.output_padding if op.transposed else None)


def _direct(op: ops.Conv1dOp | ops.Conv2dOp) -> Sequence[Attribute | None]:
    return _convolved(op, None)


def _transposed(op: ops.ConvTranspose1dOp | ops.ConvTranspose2dInputOp) -> Sequence[Attribute | None]:
    return _convolved(op, op.output_padding)


def _convolved(op: Convolution, added: Sequence[Size] | None) -> Sequence[Attribute | None]:
    """The result's type; `added` is the output padding of a transposed convolution, None of any other."""
    input, weight, bias = op.input, op.weight, op.bias
    shape, kernel = shape_of(input), shape_of(weight)
    spatial = len(kernel) - 2
    if spatial < 1 or len(shape) not in (spatial + 1, spatial + 2):
        raise VerifyException(f"input {shape_text(shape)} does not fit weight {shape_text(kernel)}")
    batch, (channels, *sizes) = shape[: len(shape) - spatial - 1], shape[len(shape) - spatial - 1 :]
    transposed = added is not None
    groups = known(op.groups)
    stride, padding, dilation = (_spread(values, spatial) for values in (op.stride, op.padding, op.dilation))
    output_padding = [0] * spatial if added is None else _spread(added, spatial)
    lists = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding}
    for name, values in lists.items():
        if len(values) != spatial:
            raise VerifyException(f"{name} has {len(values)} values for {spatial} spatial dimensions")
    if groups < 1 or min(stride) < 1 or min(dilation) < 1:
        raise VerifyException("groups, stride and dilation are at least 1")
    if min(kernel) < 0:
        return (None,)
    expected_in = kernel[0] if transposed else kernel[1] * groups
    if not same_dim(channels, expected_in):
        raise VerifyException(
            f"input has {channels} channels, weight {shape_text(kernel)} with {groups} groups expects {expected_in}"
        )
    out_channels = kernel[1] * groups if transposed else kernel[0]
    if bias is not None and shape_of(bias) != (out_channels,):
        raise VerifyException(f"bias has shape {shape_text(shape_of(bias))}, expected {out_channels}")
    result: list[int] = []
    for i, size in enumerate(sizes):
        reach = dilation[i] * (kernel[i + 2] - 1)
        if size < 0:
            result.append(size)
            continue
        if transposed:
            out = (size - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i] + 1
        else:
            out = floor_div(size + 2 * padding[i] - reach - 1, stride[i]) + 1
        if out < 1:
            raise VerifyException(f"kernel {shape_text(kernel[2:])} is larger than the padded input")
        result.append(out)
    return (tensor_type(element_of(input), (*batch, out_channels, *result)),)


ROWS = [
    row("aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
        "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
        "Convolution of any number of spatial dimensions, also transposed.", out="convolution.out",
        infer=_convolution),
    row("aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, "
        "SymInt[1] dilation=1, SymInt groups=1) -> Tensor", "Convolution of NCL.", infer=_direct),
    row("aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, "
        "SymInt[2] dilation=1, SymInt groups=1) -> Tensor", "Convolution of NCHW.", infer=_direct),
    row("aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
        "SymInt[1] padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) -> Tensor",
        "Transposed convolution of NCL.", infer=_transposed),
    row("aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, "
        "SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1) -> Tensor",
        "Transposed convolution of NCHW.", infer=_transposed),
]  # fmt: skip
