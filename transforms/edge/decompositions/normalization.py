"""Normalisations: all become those that give their statistics as well."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition


@decomposition("edge.batch_norm")
def batch_norm(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`_native_batch_norm_legit_no_training(…)`"""
    return _with_running_statistics(op, b)


def _with_running_statistics(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    mean, var = op.tensor("running_mean"), op.tensor("running_var")
    if mean is None or var is None:
        return None
    return b.call(
        "_native_batch_norm_legit_no_training",
        input=op.required("input"),
        weight=op.tensor("weight"),
        bias=op.tensor("bias"),
        running_mean=mean,
        running_var=var,
        momentum=op.value("momentum"),
        eps=op.value("eps"),
    )


@decomposition("edge.layer_norm")
def layer_norm(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`native_layer_norm(…)`"""
    return b.call(
        "native_layer_norm",
        input=op.required("input"),
        normalized_shape=op.value("normalized_shape"),
        weight=op.tensor("weight"),
        bias=op.tensor("bias"),
        eps=op.value("eps"),
    )


@decomposition("edge.group_norm")
def group_norm(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`native_group_norm(…)`"""
    return _by_groups(op, b, op.value("num_groups"))


@decomposition("edge.instance_norm")
def instance_norm(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`native_group_norm(…)` with a group for each channel; `batch_norm` where it has running statistics to use"""
    if not op.value("use_input_stats"):
        return _with_running_statistics(op, b)
    channels = shape_of(op.required("input"))[1]
    return None if channels < 0 else _by_groups(op, b, channels)


def _by_groups(op: edge.EdgeOp, b: EdgeBuilder, groups: int) -> SSAValue:
    value = op.required("input")
    batch, channels, *space = b.sizes(value)
    return b.call(
        "native_group_norm",
        input=value,
        weight=op.tensor("weight"),
        bias=op.tensor("bias"),
        N=batch,
        C=channels,
        HxW=b.product(space),
        group=groups,
        eps=op.value("eps"),
    )


@decomposition("edge.rms_norm")
def rms_norm(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`self * rsqrt(mean(self * self) + eps) * weight`"""
    value, weight, eps = op.required("input"), op.tensor("weight"), op.value("eps")
    dims = list(range(-len(op.value("normalized_shape")), 0))
    square = b.call("mul.Tensor", self=value, other=value)
    mean = b.call("mean.dim", self=square, dim=dims, keepdim=True)
    shifted = b.call("add.Scalar", self=mean, other=_epsilon(value) if eps is None else eps)
    result = b.call("mul.Tensor", self=value, other=b.call("rsqrt", self=shifted))
    return result if weight is None else b.call("mul.Tensor", self=result, other=weight)


def _epsilon(value: SSAValue) -> float:
    """The distance of 1 to the next number, which stands in for an absent eps. ATen takes fp32's for shorter types."""
    match element_of(value):
        case Float64Type():
            return 2.0**-52
        case Float16Type() | BFloat16Type() | _:
            return 2.0**-23
