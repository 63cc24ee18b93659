"""Normalisations, in inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from .accessors import Size
from .base import row
from .elementwise import same
from .types import element_of, known, same_dim, shape_of, shape_text, tensor_type

if TYPE_CHECKING:
    from . import ops


def _per_channel(input: SSAValue, **parameters: SSAValue | None) -> int:
    """Check that weight, bias and statistics, by name, have one value a channel (dim 1); the channel count."""
    shape = shape_of(input)
    if len(shape) < 2:
        raise VerifyException(f"input has shape {shape_text(shape)}, expected at least two dimensions")
    for name, value in parameters.items():
        if value is None:
            continue
        parameter = shape_of(value)
        if len(parameter) != 1 or not same_dim(parameter[0], shape[1]):
            raise VerifyException(f"{name} has shape {shape_text(parameter)}, expected {shape[1]}")
    return shape[1]


def _batch_channels(op: ops.BatchNormOp | ops.InstanceNormOp | ops.NativeBatchNormLegitNoTrainingOp) -> None:
    mean, var = op.running_mean, op.running_var
    _per_channel(op.input, weight=op.weight, bias=op.bias, running_mean=mean, running_var=var)


def _batch_norm(op: ops.BatchNormOp) -> Sequence[Attribute]:
    _batch_channels(op)
    if op.training:
        raise VerifyException("is for inference: training = false")
    return same(op)


def _instance_norm(op: ops.InstanceNormOp) -> Sequence[Attribute]:
    _batch_channels(op)
    return same(op)


def _legit_batch_norm(op: ops.NativeBatchNormLegitNoTrainingOp) -> Sequence[Attribute]:
    """The saved statistics of training are empty."""
    _batch_channels(op)
    empty = tensor_type(element_of(op.input), (0,))
    return (*same(op), empty, empty)


def _normalized_dims(input: SSAValue, sizes: Sequence[Size], **parameters: SSAValue | None) -> int:
    """Check normalized_shape and the parameters, by name, against the input's last dimensions; their count."""
    shape = shape_of(input)
    normalized = tuple(map(known, sizes))
    if (
        not normalized
        or len(normalized) > len(shape)
        or not all(map(same_dim, shape[len(shape) - len(normalized) :], normalized))
    ):
        raise VerifyException(
            f"normalized_shape {shape_text(normalized)} are not the last dimensions of {shape_text(shape)}"
        )
    for name, value in parameters.items():
        if value is not None and not (
            len(shape_of(value)) == len(normalized) and all(map(same_dim, shape_of(value), normalized))
        ):
            raise VerifyException(f"{name} has shape {shape_text(shape_of(value))}, expected {shape_text(normalized)}")
    return len(normalized)


def _layer_norm(op: ops.LayerNormOp) -> Sequence[Attribute]:
    _normalized_dims(op.input, op.normalized_shape, weight=op.weight, bias=op.bias)
    return same(op)


def _rms_norm(op: ops.RmsNormOp) -> Sequence[Attribute]:
    _normalized_dims(op.input, op.normalized_shape, weight=op.weight)
    return same(op)


def _native_layer_norm(op: ops.NativeLayerNormOp) -> Sequence[Attribute]:
    """Also the mean and the reciprocal deviation, of size 1 in the normalised dimensions."""
    dims = _normalized_dims(op.input, op.normalized_shape, weight=op.weight, bias=op.bias)
    shape = shape_of(op.input)
    statistics = tensor_type(element_of(op.input), (*shape[: len(shape) - dims], *(1,) * dims))
    return (*same(op), statistics, statistics)


def _check_groups(op: ops.GroupNormOp | ops.NativeGroupNormOp, groups: int) -> None:
    channels = _per_channel(op.input, weight=op.weight, bias=op.bias)
    if groups < 1 or (channels > 0 and channels % groups):
        raise VerifyException(f"{channels} channels do not divide into {groups} groups")


def _group_norm(op: ops.GroupNormOp) -> Sequence[Attribute]:
    _check_groups(op, op.num_groups)
    return same(op)


def _native_group_norm(op: ops.NativeGroupNormOp) -> Sequence[Attribute]:
    """Also mean and reciprocal deviation, [batch, group]."""
    _check_groups(op, op.group)
    statistics = tensor_type(element_of(op.input), (shape_of(op.input)[0], op.group))
    return (*same(op), statistics, statistics)


ROWS = [
    row("aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
        "bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
        "(input - running_mean) / sqrt(running_var + eps) * weight + bias, by channel (dim 1).", infer=_batch_norm),
    row("aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
        "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        "batch_norm, with two empty results where training has its statistics.",
        out="_native_batch_norm_legit_no_training.out", infer=_legit_batch_norm),
    row("aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
        "float eps=1e-05, bool cudnn_enable=True) -> Tensor",
        "Zero mean and unit variance over the last dimensions, then weight and bias.", infer=_layer_norm),
    row("aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) "
        "-> (Tensor, Tensor, Tensor)", "layer_norm, mean and reciprocal deviation.", out="native_layer_norm.out",
        infer=_native_layer_norm),
    row("aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
        "bool cudnn_enabled=True) -> Tensor",
        "Zero mean and unit variance over each group of channels, then weight and bias by channel.",
        infer=_group_norm),
    row("aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, "
        "int group, float eps) -> (Tensor, Tensor, Tensor)", "group_norm, mean and reciprocal deviation.",
        out="native_group_norm.out", infer=_native_group_norm),
    row("aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
        "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
        "Zero mean and unit variance over each channel of each sample, then weight and bias by channel.",
        infer=_instance_norm),
    row("aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
        "Unit mean square over the last dimensions, then weight.", infer=_rms_norm),
]  # fmt: skip
