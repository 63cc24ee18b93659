"""Scales of weights that are large enough for the biases beside them.

A bias has the scale input · weight, and 32 bits. A layer that saw next to nothing has a tiny input scale, so that a
bias of ordinary size would be cut off. Then its channel gets a larger weight scale: its products are less than a
thousandth of that bias, and lose nothing that counts.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from .observers import Range
from .operators import Operators
from .parameter_readers import parameter_of
from .state import attribute

MOST_STEPS = float(1 << 30)
"""How many steps of its scale a bias may have: half of what 32 bits hold, for corrections add to it."""


def least_scales(bias: Tensor, input_scale: float) -> Tensor:
    """The scales that the weights of channels with these biases need at least."""
    return bias.detach().abs() / (MOST_STEPS * input_scale)


def make_room_for_biases(observed: GraphModule, names: Collection[str]) -> None:
    """Raise the least scales of the weights' observers of these layers of a calibrated graph, where biases need it."""
    operators = Operators()
    for node in observed.graph.nodes:
        if node.name not in names:
            continue
        value, weight = operators.weighted_arguments(node)
        bias = operators.bias(node)
        name = None if bias is None else parameter_of(bias)
        if value is None or weight is None or name is None or {value.op, weight.op} != {"call_module"}:
            continue
        activation, observer = (observed.get_submodule(str(each.target)) for each in (value, weight))
        if not isinstance(activation, Range):
            continue
        scale, _ = activation.calculate_qparams()
        _raise(observer, least_scales(attribute(observed, name), float(scale)))


def _raise(observer: Any, least: Tensor) -> None:
    """An observer's `eps` is the least scale that it gives."""
    scales, _ = observer.calculate_qparams()
    least = least if least.shape == scales.shape else least.amax()
    if bool((least > scales).any()):
        observer.eps = torch.maximum(observer.eps, least)
