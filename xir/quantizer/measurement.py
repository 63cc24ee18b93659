"""Measuring a quantised graph against the float one, layer by layer, on the calibration inputs.

What of a layer's noise arrives at the outputs is found to first order: for random directions v of the outputs, the
gradient of ⟨v, outputs⟩ in the layer's result, times the noise there, has the mean square of what arrives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from xir.importer.source import node_location
from xir.ir.location import find_file_location
from xir.progress import counted

from .histogram import Histogram
from .layers import module_path, operator_name
from .outputs import OutputPowers, Power, converted_value
from .report import Layer, QuantReport
from .state import GraphState, call

PROBES = 4
"""Random directions of the outputs for each input."""


@dataclass
class _Measured:
    own: Power
    accumulated: Power
    arriving: dict[Node, Power]
    """By what is compared of the outputs."""
    low: float = math.inf
    high: float = -math.inf
    histogram: Histogram = field(default_factory=Histogram)
    chosen: tuple[float, float] | None = None
    """What the integers reach; None for a result that stays in float."""


def measure(
    floats: GraphModule,
    quantized: GraphModule,
    ends: Mapping[str, str],
    samples: Iterable[tuple[Any, ...]],
) -> QuantReport:
    """Compare two graphs whose nodes have the same names, `quantized` having conversions more.

    `ends` has for each layer the name of its last node, which differs where a clamp is part of it. A model with state
    is called once for each sample, one after the other; each graph has buffers of its own, and the modules' stay.
    """
    measured = {end: _Measured(Power(), Power(), {}) for end in ends.values()}
    states = GraphState(floats), GraphState(quantized), GraphState(quantized)
    powers = OutputPowers(floats)
    count = 0
    with torch.no_grad():
        for sample in counted("Measuring", samples):
            _Comparison(floats, quantized, measured, powers, *states).run(sample)
            count += 1
    nodes = {node.name: node for node in floats.graph.nodes}
    layers = [_layer(nodes[name], measured[end]) for name, end in ends.items()]
    layers.sort(key=lambda each: (each.outputs, each.own))
    return QuantReport(tuple(layers), powers.outputs(), count)


def _layer(node: Node, measured: _Measured) -> Layer:
    place = find_file_location(node_location(node))
    return Layer(
        node.name,
        module_path(node),
        operator_name(node),
        place.filename.data if place else "",
        place.line.data if place else 0,
        measured.own.decibels,
        measured.accumulated.decibels,
        min((power.decibels for power in measured.arriving.values()), default=math.inf),
        measured.low,
        measured.high,
        chosen=measured.chosen,
        reach=measured.histogram.reach,
        histogram=measured.histogram.shares(),
    )


class _Comparison:
    """One run of both graphs in step. Each node of the quantised graph has two values: `actual`, and `alone`, which
    quantises exact values and so has the noise of no layer but its own."""

    def __init__(
        self,
        floats: GraphModule,
        quantized: GraphModule,
        measured: dict[str, _Measured],
        powers: OutputPowers,
        exact_state: GraphState,
        actual_state: GraphState,
        alone_state: GraphState,
    ):
        self._quantized, self._measured, self._powers = quantized, measured, powers
        self._exact_state, self._actual_state, self._alone_state = exact_state, actual_state, alone_state
        alone_state.take(exact_state)
        self._twins = {node.name: node for node in floats.graph.nodes}
        self._exact: dict[Node, Any] = {}
        self._noise: dict[str, tuple[Tensor, Tensor]] = {}
        """By layer: its exact result, in which outputs have gradients, and the noise that it adds."""
        self._actual: dict[Node, Any] = {}
        self._alone: dict[Node, Any] = {}
        self._compared: dict[Node, Tensor] = {}
        """By the float graph's nodes, what the quantised program has for what is compared."""
        self._wanted = {node.name: node for node in powers.inside()}
        self._last = {operand: node for node in quantized.graph.nodes for operand in node.all_input_nodes}

    def run(self, sample: tuple[Any, ...]) -> None:
        """Take in what both graphs make of a sample."""
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            self._run(sample)
            exact = {node: self._exact[node] for node in self._compared}
            self._probe({node: exact[node] for nodes in self._powers.compared for node in nodes})
        self._powers.add({node: value.detach() for node, value in exact.items()}, self._compared)
        self._exact_state.leave()

    def _run(self, sample: tuple[Any, ...]) -> None:
        feeds = iter(sample)
        for node in self._quantized.graph.nodes:
            if node.op == "placeholder":
                self._exact[self._twins[node.name]] = self._actual[node] = self._alone[node] = next(feeds)
            elif node.op == "get_attr":
                self._actual[node] = self._actual_state.read(str(node.target))
                self._alone[node] = self._alone_state.read(str(node.target))
            elif node.op == "call_function":
                self._compute(node)
            elif node.op == "output":
                self._compared |= self._powers.returned(self._quantized.graph, self._actual)
            if (twin := self._wanted.get(node.name)) is not None:
                self._compared[twin] = converted_value(node, self._actual[node]).clone()
            self._forget(node)
        for twin in self._compared:
            if twin.op == "get_attr":
                self._exact[twin] = self._exact_state.read(str(twin.target))

    def _compute(self, node: Node) -> None:
        self._actual[node] = call(node, self._actual, self._actual_state)
        twin = self._twins.get(node.name)
        if twin is None or twin.op != "call_function":
            self._alone[node] = call(node, _Exactly(self._alone, self._exact, self._twins), self._alone_state)
            return
        self._exact[twin] = self._evaluate(twin)
        self._alone[node] = call(node, self._alone, self._alone_state)
        if node.name not in self._measured:
            return
        measured, exact = self._measured[node.name], self._exact[twin]
        if not exact.requires_grad:
            self._exact[twin] = exact = exact.detach().requires_grad_()
        alone = converted_value(node, self._alone[node])
        self._noise[node.name] = exact, alone - exact
        measured.low, measured.high = min(measured.low, float(exact.min())), max(measured.high, float(exact.max()))
        measured.histogram.add(exact.detach())
        measured.chosen = _range(node)
        measured.own.add(exact, alone)
        measured.accumulated.add(exact, converted_value(node, self._actual[node]))

    def _evaluate(self, twin: Node) -> Any:
        for operand in twin.all_input_nodes:
            if operand not in self._exact:
                is_attribute = operand.op == "get_attr"
                found = self._exact_state.read(str(operand.target)) if is_attribute else self._evaluate(operand)
                self._exact[operand] = found
        with torch.enable_grad():
            return call(twin, self._exact, self._exact_state)

    def _probe(self, compared: dict[Node, Tensor]) -> None:
        """Find what arrives of each layer's noise at what is compared."""
        names, results = list(self._noise), [exact for exact, _ in self._noise.values()]
        generator = torch.Generator().manual_seed(0)
        for node, output in compared.items():
            if not output.requires_grad or not results:
                continue
            signal = float(output.detach().double().square().sum())
            for _ in range(PROBES):
                direction = torch.randn(output.shape, generator=generator)
                gradients = torch.autograd.grad(output, results, direction, retain_graph=True, allow_unused=True)
                for name, gradient in zip(names, gradients, strict=True):
                    if gradient is None:  # pyright: ignore[reportUnnecessaryComparison]  # what allow_unused gives
                        continue
                    arriving = self._measured[name].arriving.setdefault(node, Power())
                    arriving.signal += signal
                    arriving.noise += float((gradient * self._noise[name][1]).double().sum().square())

    def _forget(self, node: Node) -> None:
        """Drop the values that no node behind this one reads."""
        for operand in node.all_input_nodes:
            if self._last[operand] is node:
                self._actual.pop(operand, None)
                self._alone.pop(operand, None)


class _Exactly(dict[Node, Any]):
    """Values for a conversion: exact where it reads a layer's result."""

    def __init__(self, alone: dict[Node, Any], exact: dict[Node, Any], twins: dict[str, Node]):
        super().__init__()
        self._alone, self._values, self._twins = alone, exact, twins

    def __missing__(self, node: Node) -> Any:
        twin = self._twins.get(node.name)
        return self._values[twin] if twin is not None and twin in self._values else self._alone[node]


def _range(node: Node) -> tuple[float, float] | None:
    """What the integers of a node's result reach."""
    for user in node.users:
        if str(user.target).startswith("quantized_decomposed.quantize_per_tensor.default"):
            scale, zero_point, low, high = (float(each) for each in user.args[1:5])  # pyright: ignore
            return (low - zero_point) * scale, (high - zero_point) * scale
    return None


def without_observers(observed: GraphModule) -> GraphModule:
    """The float graph that observers were put into; shares its parameters."""
    copies: dict[Node, Node] = {}
    graph = torch.fx.Graph()
    for node in observed.graph.nodes:
        if node.op == "call_module":
            if node.args:
                copies[node] = copies[node.args[0]]
            continue
        copies[node] = graph.node_copy(node, copies.__getitem__)
        copies[node].name = node.name
    return GraphModule(observed, graph)
