"""Scales of weights that are large enough for the biases beside them.

A bias has the scale input · weight, and 32 bits. A layer that saw next to nothing has a tiny input scale, so that a
bias of ordinary size would be cut off. Then its channel gets a larger weight scale: its products are less than a
thousandth of that bias, and lose nothing that counts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from .operators import Operators
from .parameter_readers import parameter_of
from .specs import LARGEST_BIAS
from .state import attribute

MOST_STEPS = LARGEST_BIAS / 2
"""How many steps of its scale a bias may have: half of what 32 bits hold, for corrections add to it."""


def least_scales(bias: Tensor, input_scale: float) -> Tensor:
    """The scales that the weights of channels with these biases need at least."""
    return bias.detach().abs() / (MOST_STEPS * input_scale)


def make_room_for_biases(observed: GraphModule) -> None:
    """Raise the least scales of weights' observers in a calibrated graph, where the biases beside them need it."""
    operators = Operators()
    for node in observed.graph.nodes:
        bias = operators.bias(node) if node.op == "call_function" else None
        name = None if bias is None or bias.op != "call_module" else parameter_of(bias)
        if name is None:
            continue  # a bias that nobody observes stays in float
        value, weight = operators.weighted_arguments(node)
        assert value is not None
        assert weight is not None
        activation: Any = observed.get_submodule(str(value.target))
        scale, _ = activation.calculate_qparams()
        _raise(observed.get_submodule(str(weight.target)), least_scales(attribute(observed, name), float(scale)))


def _raise(observer: Any, least: Tensor) -> None:
    """An observer's `eps` is the least scale that it gives."""
    scales, _ = observer.calculate_qparams()
    least = least if least.shape == scales.shape else least.amax()
    if bool((least > scales).any()):
        observer.eps = torch.maximum(observer.eps, least)
