"""Observers: what finds ranges during calibration, and puts conversions into the graph afterwards.

They are torchao's own, except where those give a scale that XNNPACK cannot use, hide bad input, or do not exist.
"""

from __future__ import annotations

import math
import operator
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.fake_quantize import FakeQuantizeBase
from torchao.quantization.pt2e.observer import HistogramObserver, MinMaxObserver, ObserverBase, PerChannelMinMaxObserver
from torchao.quantization.pt2e.utils import create_getattr_from_value

from xir.torch_threads import one_thread

SMALLEST_CHANNEL = 2.0**-12
"""The smallest weight scale of a tensor, relative to its largest. An int32 bias has the step input · weight: a channel
of nearly zero weights must not make that so small that the bias overflows."""

LARGEST_RANGE = torch.finfo(torch.float32).max / 2
"""How far values may be apart, for torch to compute with that distance in fp32."""

_STEP = 1e-5
"""The share of the values that a step of the search for a range cuts off."""

_ROUNDED: dict[torch.dtype, type[np.floating[Any]]] = {torch.float32: np.float32, torch.float64: np.float64}
"""How a number is rounded to be compared with elements of a type."""

_quantized = torch.ops.quantized_decomposed


class Range:
    """What both activation observers add: they notice values that have no range, and zeros have a usable scale."""

    min_val: Tensor
    max_val: Tensor
    bad_value: float | None = None
    """A value that was seen and that is infinite, NaN, or too far from another."""
    found: tuple[Tensor, Tensor] | None = None
    """Scale and zero point for what was seen: each node that shares the observer asks, and the search takes long."""

    def forward(self, x_orig: Tensor) -> Tensor:
        self.found = None
        if self.bad_value is None and x_orig.numel() > 0:
            low, high = (float(bound) for bound in torch.aminmax(x_orig.detach()))
            if not math.isfinite(low) or not math.isfinite(high):
                self.bad_value = high if math.isfinite(low) else low
            elif high - low > LARGEST_RANGE:
                self.bad_value = max(low, high, key=abs)
        return x_orig if self.bad_value is not None else super().forward(x_orig)  # pyright: ignore

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Scale and zero point, one element each."""
        if not bool(self.max_val > self.min_val) and not bool(self.max_val.abs() > 0):
            return torch.ones(1), torch.zeros(1, dtype=torch.int64)
        found = super().calculate_qparams() if self.found is None else self.found  # pyright: ignore
        self.found = found
        return found


class MinMaxRange(Range, MinMaxObserver):
    """From the smallest value seen to the largest."""


class HistogramRange(Range, HistogramObserver):
    """The range that makes the squared error of the values seen least."""

    def _non_linear_param_search(self) -> tuple[Tensor, Tensor]:
        """The bounds that torchao's search finds, to the bit.

        It compares elements of tensors up to 200,000 times, which takes most of the time of quantising. These are
        numbers, rounded as the elements are.
        """
        rounded = _ROUNDED.get(self.histogram.dtype)
        if rounded is None:
            return super()._non_linear_param_search()
        below, count = self.histogram.cumsum(0).tolist(), self.histogram.sum().item()
        first, last = 0, self.bins - 1
        cut_low, cut_high, least = 0.0, 1.0, math.inf
        while cut_low < cut_high:
            low, high = cut_low + _STEP, cut_high - _STEP
            left, bound = first, rounded(low * count)
            while left < last and below[left] < bound:
                left += 1
            right, bound = last, rounded(high * count)
            while right > first and below[right] > bound:
                right -= 1
            if left - first > last - right:
                cut_low, right = low, last
            else:
                cut_high, left = high, first
            if (left, right) == (first, last):
                continue
            error = self._compute_quantization_error(left, right)
            if error > least:
                break
            first, last, least = left, right, error
        width = (self.max_val - self.min_val) / self.bins
        return self.min_val + width * first, self.min_val + width * (last + 1)


class OutputRange(HistogramRange):
    """The range whose errors the outputs feel least (`sensitivity.py`); until that is known, a `HistogramRange`."""


class PerChannelRange(PerChannelMinMaxObserver):
    """A weight's scale by channel, none smaller than `SMALLEST_CHANNEL` of the largest."""

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Scales and zero points (0) of each channel."""
        scales, zero_points = super().calculate_qparams()
        largest = float(torch.maximum(self.max_val.abs(), self.min_val.abs()).max()) / self.quant_max
        return scales.clamp(min=largest * SMALLEST_CHANNEL if largest > 0 else 1.0), zero_points


class TokenRange(ObserverBase):
    """Activations that are quantised at run time, each vector of the last dimension by its own range."""

    def __init__(self, dtype: torch.dtype, quant_min: int, quant_max: int, **_: Any):
        super().__init__(dtype, is_dynamic=True)
        self.quant_min = quant_min
        self.quant_max = quant_max

    def forward(self, x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`x` itself."""
        return x

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # pyright: ignore
        """Nothing that is known before the program runs."""
        raise NotImplementedError("the parameters are computed for each vector at run time")

    def convert(self, model: GraphModule, observer: Node) -> None:
        """Replace the observer by the computation of parameters, quantisation and dequantisation."""
        value = observer.args[0]
        with model.graph.inserting_before(observer):
            call = model.graph.call_function
            parameters = call(_quantized.choose_qparams_per_token_asymmetric.default, (value, self.dtype))
            scale, zero_point = (call(operator.getitem, (parameters, index)) for index in range(2))
            span = (scale, zero_point, self.quant_min, self.quant_max, self.dtype)
            integers = call(_quantized.quantize_per_token.default, (value, *span))
            result = call(_quantized.dequantize_per_token.default, (integers, *span, torch.float32))
        for node in (parameters, scale, zero_point, integers, result):
            _take_origin(node, next(iter(observer.users)))
        observer.replace_all_uses_with(result)
        model.graph.erase_node(observer)


class TokenFakeQuantize(FakeQuantizeBase):
    """`TokenRange` for training: rounds in the forward pass, and lets gradients through."""

    def __init__(self, dtype: torch.dtype, quant_min: int, quant_max: int, **_: Any):
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = True
        self.quant_min = quant_min
        self.quant_max = quant_max

    def forward(self, x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`x` as the program will see it."""
        if not self.fake_quant_enabled[0]:
            return x
        with torch.no_grad():
            scale, zero_point = _quantized.choose_qparams_per_token_asymmetric(x, self.dtype)
            span = (scale, zero_point, self.quant_min, self.quant_max, self.dtype)
            rounded = _quantized.dequantize_per_token(_quantized.quantize_per_token(x, *span), *span, torch.float32)
        return x + (rounded - x).detach()

    def calculate_qparams(self, **_: Any) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nothing that is known before the program runs."""
        raise NotImplementedError("the parameters are computed for each vector at run time")

    convert = TokenRange.convert


def _take_origin(node: Node, user: Node) -> None:
    """Conversions get the origin of their user."""
    if "stack_trace" in user.meta:
        node.meta["stack_trace"] = user.meta["stack_trace"]


CANDIDATES = tuple(1.0 - 0.025 * step for step in range(17))
"""4-bit scales that are tried, relative to the one that covers the largest weight."""


BLOCK = 1 << 18
"""Weights that scales are tried on at a time: few enough to stay in a cache from one step to the next, and so many that
the interpreter is no part of the time."""


def best_scales(groups: Tensor, quant_min: int, quant_max: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """The scales [n] of the least squared error for weights [n, size] of any float type, symmetric.

    They are numbers that `dtype` has, given as fp32; 1 for a group of zeros. Blocks of groups are computed side by
    side, each on one thread, so that the result is the same however many there are.
    """
    scales = torch.empty(len(groups))
    rows = max(BLOCK // max(groups.shape[1], 1), 1)

    def find(begin: int) -> None:
        scales[begin : begin + rows] = _best_scales(groups[begin : begin + rows], quant_min, quant_max, dtype)

    with one_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(find, range(0, len(groups), rows)))
    return scales


def _best_scales(groups: Tensor, quant_min: int, quant_max: int, dtype: torch.dtype) -> Tensor:
    """Those of a block."""
    weights = groups.float()
    largest = weights.abs().amax(dim=1)
    covering = torch.where(largest > 0, largest / ((quant_max - quant_min) / 2), torch.ones_like(largest))
    tried = torch.stack([(covering * factor).to(dtype).float() for factor in CANDIDATES])
    errors, rounded = torch.empty_like(tried), torch.empty_like(weights)
    for scale, error in zip(tried[:, :, None], errors, strict=True):
        torch.div(weights, scale, out=rounded).round_().clamp_(quant_min, quant_max).mul_(scale)
        torch.sum(rounded.sub_(weights).square_(), dim=1, out=error)
    # NumPy finds the first of the least numbers in a third of the time that torch takes.
    best = torch.from_numpy(errors.numpy().argmin(axis=0, keepdims=True))
    return tried.gather(0, best)[0]


class FinePerChannelRange(PerChannelMinMaxObserver):
    """A 4-bit weight's scale by channel, the one of the least squared error."""

    def forward(self, x_orig: Tensor) -> Tensor:
        """`x_orig` itself, having noted its scales."""
        rows = x_orig.detach().movedim(self.ch_axis, 0).flatten(1)
        self.scales = best_scales(rows, self.quant_min, self.quant_max)
        return x_orig

    def hold(self, _: Tensor, scales: Tensor) -> None:
        """Use these scales, [channels, 1]: the weight that is going to be converted was rounded for them."""
        self.scales = scales[:, 0]

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Scales and zero points (0) of each channel."""
        return self.scales, torch.zeros_like(self.scales, dtype=torch.int64)


def group_scales(weight: Tensor, group_size: int, quant_min: int, quant_max: int) -> Tensor:
    """The best scales [channels, groups] of a weight, numbers of the 16 bits that XNNPACK has for each."""
    scales = best_scales(weight.reshape(-1, group_size), quant_min, quant_max, torch.bfloat16)
    return scales.reshape(weight.shape[0], -1)


class GroupRange(ObserverBase):
    """A 4-bit weight's scales by output channel and group of inputs."""

    def __init__(self, dtype: torch.dtype, quant_min: int, quant_max: int, group_size: int, **_: Any):
        super().__init__(dtype)
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.group_size = group_size
        self._scales: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`x` itself, having noted it."""
        self.weight = x.detach()
        return x

    def hold(self, weight: Tensor, scales: Tensor) -> None:
        """Use these scales, [channels, groups], for the weight, which was rounded for them."""
        self.weight, self._scales = weight, scales

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # pyright: ignore
        """Scales and zero points (0), [channels, groups]."""
        scales = self._scales
        if scales is None:
            scales = group_scales(self.weight, self.group_size, self.quant_min, self.quant_max)
        return scales, torch.zeros_like(scales, dtype=torch.int32)

    def convert(self, model: GraphModule, observer: Node) -> None:
        """Replace the observed weight by its integers, dequantised."""
        scales, zero_points = self.calculate_qparams()
        span = (self.quant_min, self.quant_max, self.dtype, self.group_size)
        integers = _quantized.quantize_per_channel_group(self.weight, scales, zero_points, *span)
        with model.graph.inserting_before(observer):
            values = [
                create_getattr_from_value(model, model.graph, f"{observer.target}_{name}", value, None)
                for name, value in (("integers", integers), ("scales", scales), ("zero_points", zero_points))
            ]
            dequantize = _quantized.dequantize_per_channel_group.default
            result = model.graph.call_function(dequantize, (*values, *span, torch.float32))
        _take_origin(result, next(iter(observer.users)))
        observer.replace_all_uses_with(result)
        model.graph.erase_node(observer)


class FineFakeQuantize(FakeQuantizeBase):
    """4-bit weights for training, by output channel and group of inputs (None: all of them): rounds in the forward
    pass, and lets the gradients of weights within the range through."""

    def __init__(self, dtype: torch.dtype, quant_min: int, quant_max: int, group_size: int | None = None, **_: Any):
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = False
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.group_size = group_size

    def forward(self, x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`x` as the program will see it."""
        self.weight = x.detach()
        self.group_size = self.group_size or x.shape[1]
        if not self.fake_quant_enabled[0]:
            return x
        scales, _ = self.calculate_qparams()
        groups = x.reshape(*scales.shape, self.group_size) / scales[..., None]
        rounded = groups + (groups.round() - groups).detach()
        return (rounded.clamp(self.quant_min, self.quant_max) * scales[..., None]).reshape(x.shape)

    def calculate_qparams(self, **_: Any) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Scales and zero points (0), [channels, groups]."""
        assert self.group_size is not None, "the weight was seen"
        scales = group_scales(self.weight, self.group_size, self.quant_min, self.quant_max)
        return scales, torch.zeros_like(scales, dtype=torch.int32)

    convert = GroupRange.convert
