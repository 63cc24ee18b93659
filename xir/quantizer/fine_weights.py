"""4-bit weights of an observed graph, rounded for what their layers compute on the calibration inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.fx import GraphModule, Node

from .compensation import compensated
from .layerwise import LinearLayer, round_by_layer
from .observers import FinePerChannelRange, GroupRange
from .state import attribute

SAMPLES = 128
"""Calibration inputs that are used, the first ones: what layers read of all of them is in memory at once."""


def round_fine_weights(observed: GraphModule, samples: Sequence[tuple[Any, ...]]) -> None:
    """Give each layer with 4-bit weights numbers that its observer's conversion keeps, rounded for the samples.

    A weight that something else reads as well, such as an embedding, stays as it is.
    """
    by_weight = defaultdict[str, list[LinearLayer]](list)
    for layer in _layers(observed):
        by_weight[layer.name].append(layer)
    by_weight = {name: found for name, found in by_weight.items() if _is_alone(observed, found)}
    replaced = dict[str, Tensor]()

    def round_weight(layer: LinearLayer, weight: Tensor, moments: Tensor) -> Tensor:
        observers = [_observer(observed, each.observed) for each in by_weight[layer.name]]
        first = observers[0]
        assert first is not None
        rounded = compensated(weight, moments, _group_size(first, weight), (first.quant_min, first.quant_max))
        found = replaced[layer.name] = rounded.weight()
        for observer in observers:
            assert observer is not None
            observer.hold(found, rounded.scales)
        return found

    layers = [layer for found in by_weight.values() for layer in found]
    round_by_layer(observed, layers, samples[:SAMPLES], round_weight)
    for target, value in replaced.items():
        path, _, name = target.rpartition(".")
        setattr(observed.get_submodule(path), name, nn.Parameter(value, requires_grad=False))


def _layers(observed: GraphModule) -> list[LinearLayer]:
    found: list[LinearLayer] = []
    for node in observed.graph.nodes:
        if node.op != "call_function" or len(node.args) < 2:
            continue
        value, weight = node.args[:2]
        if isinstance(value, Node) and isinstance(weight, Node) and _observer(observed, weight) is not None:
            attribute = weight.args[0]
            if isinstance(attribute, Node) and attribute.op == "get_attr":
                found.append(LinearLayer(node, value, attribute, weight))
    return found


def _observer(observed: GraphModule, node: Node) -> FinePerChannelRange | GroupRange | None:
    """The observer of 4-bit weights that a node calls."""
    module = observed.get_submodule(str(node.target)) if node.op == "call_module" else None
    return module if isinstance(module, FinePerChannelRange | GroupRange) else None


def _group_size(observer: FinePerChannelRange | GroupRange, weight: Tensor) -> int:
    return observer.group_size if isinstance(observer, GroupRange) else weight.shape[1]


def _is_alone(observed: GraphModule, layers: Sequence[LinearLayer]) -> bool:
    """Whether nothing but these layers reads their weight, and all in groups of one size."""
    weight = attribute(observed, layers[0].name)
    sizes = {_group_size(found, weight) for each in layers if (found := _observer(observed, each.observed)) is not None}
    nodes = {layer.node for layer in layers}
    observers = {layer.observed for layer in layers}
    readers = [
        reader
        for node in observed.graph.nodes
        if node.op == "get_attr" and attribute(observed, str(node.target)) is weight
        for reader in node.users
    ]
    return len(sizes) == 1 and observers.issuperset(readers) and nodes.issuperset(n for o in observers for n in o.users)
