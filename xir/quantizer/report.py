"""The quantisation report: how far each layer of a quantised program is from the float one, the worst first.

What of a layer's noise arrives at the outputs is found to first order: for random directions v of the outputs, the
gradient of ⟨v, outputs⟩ in the layer's result, times the noise there, has the mean square of what arrives.
"""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from xir.importer.source import node_location
from xir.ir.location import find_file_location
from xir.progress import counted

from .layers import module_path, operator_name
from .state import State, call

PROBES = 4
"""Random directions of the outputs for each input."""

JSON_VERSION = 2
"""Of the machine-readable form: raised when a key changes its meaning or goes away, not when one is added."""


@dataclass(frozen=True)
class Layer:
    """One quantised layer. Ratios of signal to noise are in dB; infinite where both programs agree."""

    name: str
    """The node's name in the exported graph: what `keep_float` takes."""
    module: str
    """The path of the module that it comes from; empty for the model's own."""
    operator: str
    file: str
    """Empty where the layer has no place in a file."""
    line: int
    own: float
    """SQNR of the layer alone, on exact operands: the noise that it adds."""
    sqnr: float
    """SQNR of its result in the program, with the noise of all layers before it."""
    outputs: float
    """SQNR that the model's outputs would have with the noise of this layer alone; that of the worst one."""
    low: float
    """The least value of the float result."""
    high: float


@dataclass(frozen=True)
class Output:
    """One tensor that the model returns."""

    sqnr: float
    """In dB; infinite where both programs agree."""
    equal: float
    """The share of its elements that both programs agree in."""
    is_float: bool
    """Whether noise is a measure of it: integers and booleans are indices and choices, and right or wrong."""


@dataclass(frozen=True)
class QuantReport:
    """A quantised program against the float one, on the calibration inputs."""

    layers: tuple[Layer, ...]
    """Those that compute on integers, by `outputs`, the worst first."""
    kept: tuple[str, ...]
    """Names of the layers that were left in float to reach `min_sqnr`."""
    outputs: tuple[Output, ...]
    """The tensors that the model returns, in order."""
    inputs: int
    """How many inputs were measured."""

    @property
    def output(self) -> float:
        """SQNR of the worst output of floating point, in dB, which `min_sqnr` is about; of any if none is."""
        floats = [each.sqnr for each in self.outputs if each.is_float]
        return min(floats or (each.sqnr for each in self.outputs), default=math.inf)

    def text(self) -> str:
        """The table for people."""
        kept = f", {len(self.kept)} kept in float: {', '.join(self.kept)}" if self.kept else ""
        lines = [f"outputs {_decibels(self.output)} on {self.inputs} inputs; {len(self.layers)} layers quantised{kept}"]
        if len(self.outputs) > 1:
            lines += [f"output {index}: {_agreement(each)}" for index, each in enumerate(self.outputs)]
        names = [" ".join(filter(None, (layer.name, layer.module and f"({layer.module})"))) for layer in self.layers]
        width = max(map(len, names), default=0)
        columns = " ".join(f"{name:>12}" for name in ("at outputs", "layer alone", "in program"))
        lines.append(f"{columns}  {'range':22} {'layer':{width}}  operator  source")
        for name, layer in zip(names, self.layers, strict=True):
            place = f"{layer.file}:{layer.line}" if layer.file else "?"
            span = f"[{layer.low:.4g}, {layer.high:.4g}]"
            ratios = " ".join(f"{_decibels(ratio):>12}" for ratio in (layer.outputs, layer.own, layer.sqnr))
            lines.append(f"{ratios}  {span:22} {name:{width}}  {layer.operator}  {place}")
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """The same for machines; docs/quantization.md says what the keys mean."""
        rows = [
            {
                "layer": layer.name,
                "module": layer.module or None,
                "operator": layer.operator,
                "own": _number(layer.own),
                "sqnr": _number(layer.sqnr),
                "outputs": _number(layer.outputs),
                "range": [layer.low, layer.high],
                "file": layer.file or None,
                "line": layer.line or None,
            }
            for layer in self.layers
        ]
        outputs = [
            {"sqnr": _number(each.sqnr), "equal": round(each.equal, 6), "float": each.is_float} for each in self.outputs
        ]
        document: dict[str, Any] = {"version": JSON_VERSION, "output": _number(self.output), "outputs": outputs}
        document |= {"inputs": self.inputs, "kept": list(self.kept), "layers": rows}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _decibels(ratio: float) -> str:
    return "exact" if math.isinf(ratio) and ratio > 0 else f"{ratio:.1f} dB"


def _agreement(output: Output) -> str:
    return _decibels(output.sqnr) if output.is_float else f"{100 * output.equal:.4g} % of its elements are equal"


def _number(ratio: float) -> float | None:
    return round(ratio, 2) if math.isfinite(ratio) else None


@dataclass
class Power:
    """Signal and noise of one tensor, summed over inputs."""

    signal: float = 0.0
    noise: float = 0.0
    elements: int = 0
    equal: int = 0

    def add(self, exact: Tensor, actual: Tensor) -> None:
        """Take in what a tensor should be and what it is."""
        self.signal += float(exact.double().square().sum())
        self.noise += float((exact.double() - actual.double()).square().sum())
        self.elements += exact.numel()
        self.equal += int((exact == actual).sum())

    @property
    def decibels(self) -> float:
        """10·log10 of the ratio."""
        if self.noise == 0:
            return math.inf
        return 10 * math.log10(self.signal / self.noise) if self.signal > 0 else -math.inf


@dataclass
class _Measured:
    own: Power
    accumulated: Power
    arriving: dict[int, Power]
    """By the number of the output."""
    low: float = math.inf
    high: float = -math.inf


def measure(
    floats: GraphModule,
    quantised: GraphModule,
    ends: dict[str, str],
    samples: Iterable[tuple[Any, ...]],
    kept: Sequence[str] = (),
) -> QuantReport:
    """Compare two graphs whose nodes have the same names, `quantised` having conversions more.

    `ends` has for each layer the name of its last node, which differs where a clamp is part of it. A model with state
    is called once for each sample, one after the other; each graph has buffers of its own, and the modules' stay.
    """
    measured = {end: _Measured(Power(), Power(), {}) for end in ends.values()}
    states = State(floats), State(quantised), State(quantised)
    powers: dict[int, Power] = {}
    is_float: list[bool] = []
    count = 0
    with torch.no_grad():
        for sample in counted("Measuring", samples):
            pairs = _Comparison(floats, quantised, measured, *states).run(sample)
            is_float = [exact.is_floating_point() for exact, _ in pairs]
            for index, (exact, actual) in enumerate(pairs):
                powers.setdefault(index, Power()).add(exact, actual)
            count += 1
    outputs = [
        Output(each.decibels, each.equal / each.elements if each.elements else 1.0, is_float[index])
        for index, each in powers.items()
    ]
    nodes = {node.name: node for node in floats.graph.nodes}
    layers = [_layer(nodes[name], measured[end]) for name, end in ends.items()]
    layers.sort(key=lambda each: (each.outputs, each.own))
    return QuantReport(tuple(layers), tuple(kept), tuple(outputs), count)


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
    )


class _Comparison:
    """One run of both graphs in step. Each node of the quantised graph has two values: `actual`, and `alone`, which
    quantises exact values and so has the noise of no layer but its own."""

    def __init__(
        self,
        floats: GraphModule,
        quantised: GraphModule,
        measured: dict[str, _Measured],
        exact_state: State,
        actual_state: State,
        alone_state: State,
    ):
        self._floats, self._quantised, self._measured = floats, quantised, measured
        self._exact_state, self._actual_state, self._alone_state = exact_state, actual_state, alone_state
        alone_state.take(exact_state)
        self._twins = {node.name: node for node in floats.graph.nodes}
        self._exact: dict[Node, Any] = {}
        self._noise: dict[str, tuple[Tensor, Tensor]] = {}
        """By layer: its exact result, in which outputs have gradients, and the noise that it adds."""
        self._actual: dict[Node, Any] = {}
        self._alone: dict[Node, Any] = {}
        self._last = {operand: node for node in quantised.graph.nodes for operand in node.all_input_nodes}

    def run(self, sample: tuple[Any, ...]) -> list[tuple[Tensor, Tensor]]:
        """What the outputs should be, and what they are."""
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            pairs = self._run(sample)
        self._exact_state.leave()
        return [(exact.detach(), actual) for exact, actual in pairs]

    def _run(self, sample: tuple[Any, ...]) -> list[tuple[Tensor, Tensor]]:
        feeds = iter(sample)
        for node in self._quantised.graph.nodes:
            if node.op == "placeholder":
                self._exact[self._twins[node.name]] = self._actual[node] = self._alone[node] = next(feeds)
            elif node.op == "get_attr":
                self._actual[node] = self._actual_state.read(str(node.target))
                self._alone[node] = self._alone_state.read(str(node.target))
            elif node.op == "output":
                twin = next(each for each in self._floats.graph.nodes if each.op == "output")
                exact, actual = (
                    pytree.tree_leaves(torch.fx.map_arg(each.args[0], value.__getitem__))
                    for each, value in ((twin, self._exact), (node, self._actual))
                )
                pairs = [(e, a) for e, a in zip(exact, actual, strict=True) if isinstance(e, Tensor)]
                self._probe([exact for exact, _ in pairs])
                return pairs
            elif node.op == "call_function":
                self._compute(node)
            self._forget(node)
        raise AssertionError("a graph has an output")

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
        alone = _converted(node, self._alone[node])
        self._noise[node.name] = exact, alone - exact
        measured.low, measured.high = min(measured.low, float(exact.min())), max(measured.high, float(exact.max()))
        measured.own.add(exact, alone)
        measured.accumulated.add(exact, _converted(node, self._actual[node]))

    def _evaluate(self, twin: Node) -> Any:
        for operand in twin.all_input_nodes:
            if operand not in self._exact:
                is_attribute = operand.op == "get_attr"
                found = self._exact_state.read(str(operand.target)) if is_attribute else self._evaluate(operand)
                self._exact[operand] = found
        with torch.enable_grad():
            return call(twin, self._exact, self._exact_state)

    def _probe(self, outputs: list[Tensor]) -> None:
        """Find what arrives at the outputs of each layer's noise."""
        names, results = list(self._noise), [exact for exact, _ in self._noise.values()]
        generator = torch.Generator().manual_seed(0)
        for index, output in enumerate(outputs):
            if not output.requires_grad or not results:
                continue
            signal = float(output.detach().double().square().sum())
            for _ in range(PROBES):
                direction = torch.randn(output.shape, generator=generator)
                gradients = torch.autograd.grad(output, results, direction, retain_graph=True, allow_unused=True)
                for name, gradient in zip(names, gradients, strict=True):
                    if gradient is None:  # pyright: ignore[reportUnnecessaryComparison]  # what allow_unused gives
                        continue
                    arriving = self._measured[name].arriving.setdefault(index, Power())
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


def _converted(node: Node, value: Tensor) -> Tensor:
    """The value after the conversions behind the node, if the program quantises it."""
    for quantize in node.users:
        if str(quantize.target).startswith("quantized_decomposed.quantize_per_tensor.default"):
            dequantize = next(iter(quantize.users))
            integers = quantize.target(value, *quantize.args[1:])  # pyright: ignore
            return dequantize.target(integers, *dequantize.args[1:])  # pyright: ignore
    return value


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
