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
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize
from torchao.quantization.pt2e.fake_quantize import FakeQuantize

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
    for node in observed.graph.nodes:
        observer = observed.get_submodule(str(node.target)) if node.op == "call_module" else None
        if not isinstance(observer, DerivedObserverOrFakeQuantize) or len(observer.obs_or_fqs) != 2:
            continue  # only biases have parameters of two others: their layer's input and weight (`specs.bias_spec`)
        sources: Any = observer.obs_or_fqs
        activation, weight = sources
        name = parameter_of(node)
        if name is not None:
            scale, _ = activation.calculate_qparams()
            _raise(weight, least_scales(attribute(observed, name), float(scale)))


def _raise(observer: Any, least: Tensor) -> None:
    """An observer's `eps` is the least scale that it gives."""
    scales, _ = observer.calculate_qparams()
    least = least if least.shape == scales.shape else least.amax()
    if bool((least > scales).any()):
        ranges = observer.activation_post_process if isinstance(observer, FakeQuantize) else observer
        ranges.eps = torch.maximum(ranges.eps, least)
