"""Activation-aware scaling before weights are rounded to 4 bits: inputs that carry more get the finer steps.

A group of a channel's weights shares a scale, so that each has the same error, whether much is multiplied with it or
little. A norm's channel is divided by s, and the weights of the layers that read it are multiplied by s, which changes
no result; their errors then count 1/s as much. Factors are the channels' root mean squares to the power α, which
balances this against the larger scales (Lin et al., "AWQ: Activation-aware Weight Quantization", 2023, arXiv
2306.00978, with mean magnitudes); α is the one of the least error of the layers' results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn
from torch.fx import GraphModule, Node

from .compensation import are_too_large, nearest, output_error
from .layerwise import LinearLayer
from .norms import norm_parameters
from .parameter_readers import ParameterReaders
from .state import attribute

STRENGTHS = (0.1, 0.2, 0.3, 0.4, 0.5)
"""The α that are tried, besides leaving the channels as they are."""

CHANNELS = 256
"""How many output channels of a layer errors are measured on: enough for an average."""

SMALLEST = 1e-4
"""What channels are taken to reach at least, of the largest one: factors are to stay within what 16 bits hold."""


@dataclass
class _ScaledNorm:
    """A norm that layers alone read."""

    parameters: Sequence[str]
    layers: Sequence[LinearLayer]
    factors: Tensor | None = None
    """[channels], once they are chosen."""


@dataclass
class NormFactors:
    """Factors of the norms of a graph, chosen when the first layer that reads a norm is rounded."""

    graph: GraphModule
    layers: Collection[LinearLayer]
    """Those that are rounded, with weights of their own."""
    group_size: int
    limits: tuple[int, int]
    _by_layer: dict[Node, _ScaledNorm] = field(default_factory=dict[Node, _ScaledNorm], init=False)

    def __post_init__(self) -> None:
        readers = ParameterReaders(self.graph.graph)
        by_value = defaultdict[Node, list[LinearLayer]](list)
        for layer in self.layers:
            by_value[layer.value].append(layer)
        for value, found in by_value.items():
            names = norm_parameters(self.graph, value)
            is_owned = all(len(readers.of(name)) == 1 for name in (*names, *(each.name for each in found)))
            are_parameters = all(isinstance(attribute(self.graph, name), nn.Parameter) for name in names)
            if names and is_owned and are_parameters and set(value.users) == {each.node for each in found}:
                norm = _ScaledNorm(names, found)
                self._by_layer |= {each.node: norm for each in found}

    def of(self, layer: LinearLayer, moments: Tensor) -> Tensor | None:
        """What a layer's weight [channels, inputs] is multiplied by, [inputs]; None for a layer behind no norm, or for
        inputs that are too large for their moments.

        `moments` are those of its inputs, [inputs, inputs].
        """
        norm = self._by_layer.get(layer.node)
        if norm is None or are_too_large(moments):
            return None
        if norm.factors is None:
            norm.factors = self._chosen([attribute(self.graph, each.name).detach() for each in norm.layers], moments)
        return norm.factors

    def divided(self) -> dict[str, Tensor]:
        """The new parameters of the norms by their names in the graph."""
        return {
            name: attribute(self.graph, name).detach() / norm.factors
            for norm in self._by_layer.values()
            if norm.factors is not None
            for name in norm.parameters
        }

    def _chosen(self, weights: Sequence[Tensor], moments: Tensor) -> Tensor:
        some = [each[:: max(len(each) // CHANNELS, 1)].float() for each in weights]
        reached = moments.diagonal().sqrt()
        reached = reached.clamp(min=max(float(reached.max()) * SMALLEST, 1e-30))
        tried = [reached**strength for strength in (0.0, *STRENGTHS)]
        tried = [each / (each.max() * each.min()).sqrt() for each in tried]
        errors = [sum(self._error(weight, moments, factors) for weight in some) for factors in tried]
        return tried[min(range(len(tried)), key=errors.__getitem__)]

    def _error(self, weight: Tensor, moments: Tensor, factors: Tensor) -> float:
        """Of a layer's results with weights rounded to the nearest, by the power of its results."""
        scaled, seen = weight * factors, scaled_moments(moments, factors)
        rounded = nearest(scaled, self.group_size, self.limits)
        power = float(((weight @ moments) * weight).sum())
        return float(output_error(scaled, rounded, seen).sum()) / power if power > 0 else 0.0


def scaled_moments(moments: Tensor, factors: Tensor) -> Tensor:
    """The moments of inputs that are divided by factors [inputs]."""
    return moments / factors / factors[:, None]
