"""Normalisations: all become those that give their statistics as well."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of
from xir.transforms.analysis.absent_arguments import rms_norm_epsilon
from xir.transforms.analysis.batch_norm import NO_RUNNING_STATISTICS
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, in_opmath


@decomposition
def batch_norm(op: edge.BatchNormOp, b: EdgeBuilder) -> SSAValue:
    """`_native_batch_norm_legit_no_training(…)`"""
    return _with_running_statistics(op, b)


def _with_running_statistics(op: edge.BatchNormOp | edge.InstanceNormOp, b: EdgeBuilder) -> SSAValue:
    mean, var = op.running_mean, op.running_var
    if mean is None or var is None:
        raise NO_RUNNING_STATISTICS()
    return b.call(
        edge.NativeBatchNormLegitNoTrainingOp,
        input=op.input,
        weight=op.weight,
        bias=op.bias,
        running_mean=mean,
        running_var=var,
        momentum=op.momentum,
        eps=op.eps,
    )


@decomposition
def layer_norm(op: edge.LayerNormOp, b: EdgeBuilder) -> SSAValue:
    """`native_layer_norm(…)`"""
    return b.call(
        edge.NativeLayerNormOp,
        input=op.input,
        normalized_shape=op.normalized_shape,
        weight=op.weight,
        bias=op.bias,
        eps=op.eps,
    )


@decomposition
def group_norm(op: edge.GroupNormOp, b: EdgeBuilder) -> SSAValue:
    """`native_group_norm(…)`"""
    return _by_groups(op, b, op.num_groups)


@decomposition
def instance_norm(op: edge.InstanceNormOp, b: EdgeBuilder) -> SSAValue | None:
    """`native_group_norm(…)` with a group for each channel; `batch_norm` where it has running statistics to use"""
    if not op.use_input_stats:
        return _with_running_statistics(op, b)
    channels = shape_of(op.input)[1]
    return None if channels < 0 else _by_groups(op, b, channels)


def _by_groups(op: edge.GroupNormOp | edge.InstanceNormOp, b: EdgeBuilder, groups: int) -> SSAValue:
    value = op.input
    batch, channels, *space = b.sizes(value)
    return b.call(
        edge.NativeGroupNormOp,
        input=value,
        weight=op.weight,
        bias=op.bias,
        N=batch,
        C=channels,
        HxW=b.product(space),
        group=groups,
        eps=op.eps,
    )


@decomposition
@in_opmath
def rms_norm(op: edge.RmsNormOp, b: EdgeBuilder) -> SSAValue:
    """`self * rsqrt(mean(square(self)) + eps) * weight`"""
    value, weight, eps = op.input, op.weight, op.eps
    dims = list(range(-len(op.normalized_shape), 0))
    mean = b.call(edge.MeanDimOp, self=b.call(edge.SquareOp, self=value), dim=dims, keepdim=True)
    shifted = b.call(edge.AddScalarOp, self=mean, other=rms_norm_epsilon(element_of(value)) if eps is None else eps)
    result = b.call(edge.MulTensorOp, self=value, other=b.call(edge.RsqrtOp, self=shifted))
    return result if weight is None else b.call(edge.MulTensorOp, self=result, other=weight)
