"""torchao's quantisation specs for what XNNPACK's integer nodes take."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torchao.quantization.pt2e.fake_quantize import FakeQuantize
from torchao.quantization.pt2e.observer import (
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PlaceholderObserver,
)
from torchao.quantization.pt2e.quantizer import DerivedQuantizationSpec, QuantizationSpec

from .config import QuantConfig
from .observers import (
    FineFakeQuantize,
    FinePerChannelRange,
    GroupRange,
    HistogramRange,
    MinMaxRange,
    OutputRange,
    PerChannelRange,
    TokenFakeQuantize,
    TokenRange,
)

EPSILON = 2.0**-40
"""The smallest scale."""

LARGEST_SCALE = 2.0**118
"""What 8 bits stand for is still finite with it, and its reciprocal a normal number."""

LARGEST_BIAS = 2**31 - 128
"""The largest int32 that fp32, in which torch rounds, can hold."""

_RANGES = {"outputs": OutputRange, "histogram": HistogramRange, "minmax": MinMaxRange}


def activation_spec(config: QuantConfig, *, symmetric: bool = False) -> QuantizationSpec:
    """int8 by tensor; `symmetric` has the zero point 0."""
    if config.qat:
        observer = FakeQuantize.with_args(observer=MovingAverageMinMaxObserver, eps=EPSILON)
    else:
        observer = _RANGES[config.observer].with_args(eps=EPSILON)
    scheme = torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine
    return QuantizationSpec(torch.int8, observer, -128, 127, scheme)


def scaled_spec(source: tuple[Node, Node], factor: float) -> DerivedQuantizationSpec:
    """The parameters of `source` times a positive number: multiplying by it is then exact, unless the scale had to be
    kept away from where it or its reciprocal is no normal number."""

    def scale(observers: list[Any]) -> tuple[Tensor, Tensor]:
        scales, zero_points = observers[0].calculate_qparams()
        return (scales * factor).clamp(EPSILON, LARGEST_SCALE), zero_points

    return DerivedQuantizationSpec([source], scale, torch.int8, -128, 127, torch.per_tensor_affine)


def dynamic_spec(config: QuantConfig, *, by_token: bool) -> QuantizationSpec:
    """int8 with parameters that are computed at run time: for each vector of the last dimension, or for the tensor."""
    if by_token:
        # The observer itself puts the computation of parameters in; torchao's `is_dynamic` would expect its own form.
        observer = TokenFakeQuantize if config.qat else TokenRange
        return QuantizationSpec(torch.int8, observer, -128, 127, torch.per_channel_affine)
    if config.qat:
        dynamic = MovingAverageMinMaxObserver.with_args(averaging_constant=1)
        observer = FakeQuantize.with_args(observer=dynamic, eps=EPSILON)
    else:
        observer = PlaceholderObserver.with_args(eps=EPSILON)
    return QuantizationSpec(torch.int8, observer, -128, 127, torch.per_tensor_affine, is_dynamic=True)


def weight_spec(config: QuantConfig, axis: int | None) -> QuantizationSpec:
    """int8 from −127 to 127, by channel of `axis` or (None) by tensor."""
    if axis is None or not config.per_channel:
        scheme, observer, trained = torch.per_tensor_symmetric, MinMaxObserver, MovingAverageMinMaxObserver
        axis = None
    else:
        scheme, observer, trained = torch.per_channel_symmetric, PerChannelRange, MovingAveragePerChannelMinMaxObserver
    if config.qat:
        latest = trained.with_args(averaging_constant=1, eps=EPSILON, **({} if axis is None else {"ch_axis": axis}))
        return QuantizationSpec(torch.int8, FakeQuantize.with_args(observer=latest), -127, 127, scheme, axis)
    return QuantizationSpec(torch.int8, observer.with_args(eps=EPSILON), -127, 127, scheme, axis)


def bias_spec(
    config: QuantConfig, axis: int | None, value: tuple[Node, Node], weight: tuple[Node, Node]
) -> DerivedQuantizationSpec:
    """int32 with the scale input · weight, in which XNNPACK sums; `axis` is the weight's, as for `weight_spec`."""

    def multiply(observers: list[Any]) -> tuple[Tensor, Tensor]:
        (input_scale, _), (weight_scales, zero_points) = (each.calculate_qparams() for each in observers)
        return input_scale * weight_scales, torch.zeros_like(zero_points)

    by_channel = axis is not None and config.per_channel
    scheme = torch.per_channel_symmetric if by_channel else torch.per_tensor_symmetric
    axis = 0 if by_channel else None
    return DerivedQuantizationSpec([value, weight], multiply, torch.int32, -LARGEST_BIAS, LARGEST_BIAS, scheme, axis)


def fine_weight_spec(config: QuantConfig) -> QuantizationSpec:
    """4 bits for a weight [O, I], by group of inputs or (no group size) by output channel."""
    if config.qat:
        trained = FineFakeQuantize.with_args(group_size=config.group_size)
        return QuantizationSpec(torch.int8, trained, -8, 7, torch.per_channel_symmetric, 0)
    if config.group_size is None:
        return QuantizationSpec(torch.int8, FinePerChannelRange, -8, 7, torch.per_channel_symmetric, 0)
    observer = GroupRange.with_args(group_size=config.group_size)
    return QuantizationSpec(torch.int8, observer, -8, 7, torch.per_channel_symmetric, 0)
