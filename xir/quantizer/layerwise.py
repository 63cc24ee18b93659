"""Rounding the weights of a graph layer by layer, each for the inputs that it gets behind the layers rounded before it.

The graph runs once: node by node, each on all calibration inputs before the next. A layer whose weight several nodes
read (in models whose blocks share weights) is rounded for the inputs of all of them, as the float graph has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from xir.progress import counted

from .error_feedback import draw_to_diagonal
from .parameters import Parameters
from .state import GraphState, attribute, call, writes

_quantized = torch.ops.quantized_decomposed


@dataclass(frozen=True)
class LinearLayer:
    """A linear layer of a graph, [..., inputs] to [..., channels]."""

    node: Node
    """What multiplies."""
    value: Node
    """What it reads, without observers."""
    weight: Node
    """The attribute [channels, inputs] that its weight is."""
    observed: Node
    """What the node has for the weight: the attribute itself, or an observer of it."""

    @property
    def read(self) -> Node:
        """What the node has for the value: the value itself, or an observer of it."""
        found = self.node.args[0]
        assert isinstance(found, Node)
        return found

    @property
    def name(self) -> str:
        """The weight's name in the graph module."""
        return str(self.weight.target)


Round = Callable[[LinearLayer, Tensor, Tensor], Tensor]
"""Of a layer, its weight and the moments Σ x·xᵀ [inputs, inputs] of its inputs: the rounded weight, fp32. It is called
once for each weight."""


def round_by_layer(
    module: GraphModule, layers: Collection[LinearLayer], samples: Sequence[tuple[Any, ...]], round_weight: Round
) -> None:
    """Run the graph on the samples, its placeholders' values, and have each layer's weight rounded before it computes.

    The module is not changed. Inputs of layers are quantised to 8 bits by token, as programs do at run time.
    """
    by_weight = defaultdict[str, list[LinearLayer]](list)
    for layer in layers:
        by_weight[layer.name].append(layer)
    shared = {name for name, found in by_weight.items() if len(found) > 1}
    rounded = dict[str, Tensor]()
    if shared:
        moments = dict[str, Tensor]()
        for layer, values in _walk(module, [each for each in layers if each.name in shared], samples, {}):
            found = moments_of(values)
            moments[layer.name] = moments[layer.name] + found if layer.name in moments else found
        for name, found in moments.items():
            rounded[name] = round_weight(by_weight[name][0], attribute(module, name).detach(), found)
    latest: tuple[Node, Tensor] | None = None
    computed: str | None = None
    for layer, values in _walk(module, layers, samples, rounded):
        # All rounded weights together, in fp32, would take as much memory as the model.
        if computed is not None and computed not in shared:
            del rounded[computed]
        computed = layer.name
        if layer.name in rounded:
            continue
        # Queries, keys and values read the same.
        if latest is None or latest[0] is not layer.value:
            latest = layer.value, moments_of(values)
        rounded[layer.name] = round_weight(layer, attribute(module, layer.name).detach(), latest[1])


def moments_of(values: Sequence[Tensor]) -> Tensor:
    """Σ x·xᵀ over all vectors of the last dimension, fp32 [inputs, inputs], drawn towards its diagonal."""
    inputs, positions = values[0].shape[-1], 0
    total = torch.zeros(inputs, inputs)
    for value in values:
        rows = value.detach().reshape(-1, inputs).float()
        total.addmm_(rows.T, rows)
        positions += len(rows)
    return draw_to_diagonal(total, positions)


def by_token(value: Tensor) -> Tensor:
    """The value as a layer with dynamic activations has it: each vector of the last dimension in 8 bits."""
    found = value.float()
    scale, zero_point = _quantized.choose_qparams_per_token_asymmetric(found, torch.int8)
    span = (scale, zero_point, -128, 127, torch.int8)
    rounded = _quantized.dequantize_per_token(_quantized.quantize_per_token(found, *span), *span, torch.float32)
    return rounded.to(value.dtype)


def _walk(
    module: GraphModule,
    layers: Collection[LinearLayer],
    samples: Sequence[tuple[Any, ...]],
    rounded: Mapping[str, Tensor],
) -> Generator[tuple[LinearLayer, list[Tensor]]]:
    """Each layer with its inputs, quantised, one for each sample. It computes with the weight that `rounded` has for it
    when the next layer is asked for; a layer without one computes in float, on exact inputs."""
    by_node = {layer.node: layer for layer in layers}
    needed = _needed(module, layers)
    last = {operand: node for node in needed for operand in node.all_input_nodes}
    parameters, states = Parameters(module), [GraphState(module) for _ in samples]
    values: list[dict[Node, Any]] = [{} for _ in samples]
    placeholder = 0
    for node in counted("Rounding", needed):
        if node.op == "placeholder":
            for sample, found in zip(samples, values, strict=True):
                found[node] = sample[placeholder]
            placeholder += 1
            continue
        layer = by_node.get(node)
        replaced: list[dict[Node, Any]] = [{} for _ in samples]
        if layer is not None:
            inputs = [by_token(found[layer.read]) for found in values]
            yield layer, inputs
            if layer.name in rounded:
                weight = rounded[layer.name].to(inputs[0].dtype)
                replaced = [{layer.observed: weight, layer.read: each} for each in inputs]
        constant = node.op != "get_attr" and parameters.is_static(node)
        for index, (found, state) in enumerate(zip(values, states, strict=True)):
            if constant and index:
                found[node] = values[0][node]
            else:
                with torch.no_grad():
                    found[node] = _computed(node, found | replaced[index], state)
        for operand in node.all_input_nodes:
            if last[operand] is node:
                for found in values:
                    del found[operand]


def _computed(node: Node, values: dict[Node, Any], state: GraphState) -> Any:
    match node.op:
        case "get_attr":
            return state.read(str(node.target))
        case "call_module":  # an observer
            return values[node.all_input_nodes[0]]
        case _:
            return call(node, values, state)


def _needed(module: GraphModule, layers: Collection[LinearLayer]) -> list[Node]:
    """What has to be computed for the inputs of layers, up to the last layer, and placeholders; in order."""
    nodes = list(module.graph.nodes)
    ends = {layer.node for layer in layers}
    del nodes[1 + max((index for index, node in enumerate(nodes) if node in ends), default=-1) :]
    found: set[Node] = set()
    pending = [node for node in nodes if node in ends or writes(node)]
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(node.all_input_nodes)
    return [node for node in nodes if node in found or node.op == "placeholder"]
