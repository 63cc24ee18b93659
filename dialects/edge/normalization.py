"""Normalisations, in inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from .base import EdgeOp, row
from .elementwise import same
from .types import element_of, known, same_dim, shape_of, shape_text, tensor_type

if TYPE_CHECKING:
    from . import ops


def _per_channel(op: EdgeOp) -> int:
    """Check that weight, bias and statistics have one value a channel (dim 1); the channel count."""
    shape = shape_of(op.argument("input"))
    if len(shape) < 2:
        raise VerifyException(f"input has shape {shape_text(shape)}, expected at least two dimensions")
    for name in op.schema.tensors:
        value = op.argument(name)
        if name == "input" or value is None:
            continue
        parameter = shape_of(value)
        if len(parameter) != 1 or not same_dim(parameter[0], shape[1]):
            raise VerifyException(f"{name} has shape {shape_text(parameter)}, expected {shape[1]}")
    return shape[1]


def _batch_norm(op: EdgeOp) -> Sequence[Attribute]:
    _per_channel(op)
    if op.schema.values.get("training") and op.argument("training"):
        raise VerifyException("is for inference: training = false")
    return same(op)


def _instance_norm(op: EdgeOp) -> Sequence[Attribute]:
    _per_channel(op)
    return same(op)


def _legit_batch_norm(op: ops.NativeBatchNormLegitNoTrainingOp) -> Sequence[Attribute]:
    """The saved statistics of training are empty."""
    _per_channel(op)
    empty = tensor_type(element_of(op.input), (0,))
    return (*same(op), empty, empty)


def _normalized_dims(op: EdgeOp) -> int:
    """Check normalized_shape against the input's last dimensions; their count."""
    shape = shape_of(op.argument("input"))
    normalized = tuple(known(size) for size in op.argument("normalized_shape"))
    if (
        not normalized
        or len(normalized) > len(shape)
        or not all(map(same_dim, shape[len(shape) - len(normalized) :], normalized))
    ):
        raise VerifyException(
            f"normalized_shape {shape_text(normalized)} are not the last dimensions of {shape_text(shape)}"
        )
    for name in ("weight", "bias"):
        value = op.argument(name) if name in op.schema.tensors else None
        if value is not None and not (
            len(shape_of(value)) == len(normalized) and all(map(same_dim, shape_of(value), normalized))
        ):
            raise VerifyException(f"{name} has shape {shape_text(shape_of(value))}, expected {shape_text(normalized)}")
    return len(normalized)


def _layer_norm(op: EdgeOp) -> Sequence[Attribute]:
    _normalized_dims(op)
    return same(op)


def _native_layer_norm(op: ops.NativeLayerNormOp) -> Sequence[Attribute]:
    """Also the mean and the reciprocal deviation, of size 1 in the normalised dimensions."""
    dims = _normalized_dims(op)
    shape = shape_of(op.input)
    statistics = tensor_type(element_of(op.input), (*shape[: len(shape) - dims], *(1,) * dims))
    return (*same(op), statistics, statistics)


def _groups(op: EdgeOp, name: str) -> int:
    channels, groups = _per_channel(op), op.argument(name)
    if groups < 1 or (channels > 0 and channels % groups):
        raise VerifyException(f"{channels} channels do not divide into {groups} groups")
    return groups


def _group_norm(op: EdgeOp) -> Sequence[Attribute]:
    _groups(op, "num_groups")
    return same(op)


def _native_group_norm(op: ops.NativeGroupNormOp) -> Sequence[Attribute]:
    """Also mean and reciprocal deviation, [batch, group]."""
    groups = _groups(op, "group")
    statistics = tensor_type(element_of(op.input), (shape_of(op.input)[0], groups))
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
        "Unit mean square over the last dimensions, then weight.", infer=_layer_norm),
]  # fmt: skip
