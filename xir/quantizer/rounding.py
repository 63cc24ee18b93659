"""Rounding of weights and biases layer by layer, each on what the layers before it make of the calibration inputs.

Rounding each weight to the nearest integer leaves errors that add up where inputs go together. Here the inputs of an
output channel are rounded one after the other, and each takes up the errors so far (`error_feedback`). Inputs are those
of the quantised program. The bias then takes back what rounding has added to each channel's mean on them, but not what
ranges cut off before the layer: that is in few places, and the bias in all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.nn import functional
from torchao.quantization.pt2e.observer import MinMaxObserver, PerChannelMinMaxObserver

from xir.progress import counted

from .error_feedback import Feedback, draw_to_diagonal, round_in_turn
from .layerwise import by_token
from .observers import Range, TokenRange
from .operators import Operators, arguments_of
from .parameter_readers import ParameterReaders, parameter_of
from .state import attribute, computed, set_parameter, writes

LARGEST_SAMPLES = 32
"""How many inputs layers are rounded on."""

LARGEST_ROWS = 1 << 15
"""How many positions of a layer's operand its second moments are of, over all inputs."""

LARGEST_INPUTS = 4608
"""How many inputs an output channel may have, for their second moments to be factored in seconds: a convolution of 3x3
on 512 channels. Weights with more are rounded to the nearest."""

DAMPING = 0.01
"""What is added to the second moments' diagonal, of its mean, so that they can be factored; as in GPTQ."""


def round_layers(
    observed: GraphModule, names: Collection[str], samples: Sequence[tuple[Any, ...]], most: int = LARGEST_SAMPLES
) -> bool:
    """Round the weights of these layers in a calibrated graph, and correct their biases, on at most so many samples.

    The graph gets parameters of its own. One that writes to its buffers is left alone. Whether it was not.
    """
    if has_state(observed):
        return False
    every = max(len(samples) // most, 1)
    chosen = list(islice(samples, 0, every * most, every))
    with torch.no_grad():
        shared = _SharedWeights(observed, frozenset(names), chosen)
        if shared.known:
            shared.run()
            shared.round()
        _Walk(observed, frozenset(names), chosen).run()
    return True


def has_state(graph: GraphModule) -> bool:
    """Whether a graph writes to its buffers, so that results depend on the order of inputs."""
    return any(writes(node) and _is_attribute(node) for node in graph.graph.nodes)


def _is_attribute(node: Node) -> bool:
    """Whether a node is computed in place of a parameter or buffer, views of it included."""
    while node.op != "get_attr":
        if not node.all_input_nodes or node.op != "call_function":
            return False
        node = node.all_input_nodes[0]
    return True


class _Walk:
    """Runs the quantised graph on all inputs at once, node by node."""

    def __init__(self, observed: GraphModule, names: frozenset[str], samples: Sequence[tuple[Any, ...]]):
        self._observed, self._names, self._samples = observed, names, samples
        self._operators, self._readers = Operators(), ParameterReaders(observed.graph)
        self._values: dict[Node, list[Any]] = {}

    def run(self) -> None:
        nodes = list(self._observed.graph.nodes)
        last = {operand: node for node in nodes for operand in node.all_input_nodes}
        feeds = iter(zip(*self._samples, strict=True))
        for node in counted("Rounding layers", nodes):
            if node.op == "placeholder":
                self._values[node] = list(next(feeds))
            elif node.op == "get_attr":
                self._values[node] = [attribute(self._observed, str(node.target))] * len(self._samples)
            elif node.op == "call_module" and node.args:
                self._values[node] = self._converted(node)
            elif node.op == "call_function":
                if node.name in self._names:
                    self._round(node)
                self._values[node] = [self._computed(node, index) for index in range(len(self._samples))]
            for operand in node.all_input_nodes:
                if last[operand] is node:
                    self._values.pop(operand, None)

    def _computed(self, node: Node, index: int, replaced: Mapping[Node, Tensor] | None = None) -> Any:
        values = {each: self._values[each][index] for each in node.all_input_nodes} | dict(replaced or {})
        if writes(node):
            values = {each: value.clone() if isinstance(value, Tensor) else value for each, value in values.items()}
        return computed(node, values)

    def _converted(self, node: Node) -> list[Any]:
        known = self._values[node.all_input_nodes[0]]
        observer = self._observed.get_submodule(str(node.target))
        if isinstance(observer, Range):
            scale, zero_point = (float(each) for each in observer.calculate_qparams())
            return [torch.fake_quantize_per_tensor_affine(each, scale, int(zero_point), -128, 127) for each in known]
        if isinstance(observer, TokenRange):
            return [by_token(each) for each in known]
        if isinstance(observer, MinMaxObserver | PerChannelMinMaxObserver):
            return [Grid.of(observer, known[0]).round(known[0])] * len(self._samples)
        return known

    def _operands(self, node: Node) -> tuple[Node, Node]:
        value, weight = self._operators.weighted_arguments(node)
        assert value is not None
        assert weight is not None
        return value, weight

    def _observer(self, weight: Node) -> Any:
        """That of a weight in 8 bits; None for others."""
        observer = self._observed.get_submodule(str(weight.target)) if weight.op == "call_module" else None
        return observer if isinstance(observer, MinMaxObserver | PerChannelMinMaxObserver) else None

    def _round(self, node: Node) -> None:
        """Round a layer's weight, and correct its bias."""
        value, weight = self._operands(node)
        source, observer = self._readers.owned(weight), self._observer(weight)
        if source is None or observer is None:
            return
        bias = self._operators.bias(node)
        shift = self._readers.owned(bias) if bias is not None else None
        exact = attribute(self._observed, source).detach()
        operands, grid = (
            _Operands(node, exact, self._values[value], has_bias=shift is not None),
            Grid.of(observer, exact),
        )
        found = _rounded(operands, grid, self._operators)
        if found is not None:
            set_parameter(self._observed, source, found)
            self._values[weight] = [found] * len(self._samples)
        if bias is None or shift is None:
            return
        old = attribute(self._observed, shift).detach()
        drift = self._drift(node, {weight: exact - self._values[weight][0], bias: torch.zeros_like(old)})
        if drift is not None and drift.shape == old.shape and bool(drift.isfinite().all()):
            set_parameter(self._observed, shift, old + drift)
            self._values[bias] = [old + drift] * len(self._samples)

    def _drift(self, node: Node, replaced: Mapping[Node, Tensor]) -> Tensor | None:
        """The mean of each channel with other parameters: the error of the weights, and no bias."""
        weight = next(value for value in replaced.values())
        channel = 1 - weight.dim() if "conv" in str(node.target) else -1
        total, count = torch.zeros(()), 0
        for index in range(len(self._samples)):
            result = self._computed(node, index, replaced)
            rows = result.movedim(channel, -1).reshape(-1, result.shape[channel])
            total, count = total + rows.sum(0), count + len(rows)
        return total / count if count else None


class _SharedWeights(_Walk):
    """The weights that several of the layers share, and nothing else reads: each is rounded for what all of them read,
    before the layers are rounded one after the other."""

    def __init__(self, observed: GraphModule, names: frozenset[str], samples: Sequence[tuple[Any, ...]]):
        super().__init__(observed, names, samples)
        self.known: dict[str, list[Node]] = {}
        """The layers by the name of the weight."""
        for node in observed.graph.nodes:
            name = parameter_of(self._operands(node)[1]) if node.name in names else None
            readers = () if name is None else self._readers.of(name)
            if name is not None and len(readers) > 1 and all(each.name in names for each in readers):
                self.known.setdefault(name, []).append(node)
        self._layers = {node: name for name, found in self.known.items() for node in found}
        self._moments: dict[str, list[Tensor | None]] = {}

    def _round(self, node: Node) -> None:
        """Take the moments of what a layer reads."""
        if node in self._layers:
            name, value = self._layers[node], self._values[self._operands(node)[0]]
            operands = _Operands(node, attribute(self._observed, name).detach(), value, has_bias=False)
            self._moments.setdefault(name, []).append(_moments_of(operands, self._operators))

    def round(self) -> None:
        """Give the graph the rounded weights."""
        for name, layers in self.known.items():
            observers = [self._observer(self._operands(layer)[1]) for layer in layers]
            moments = [each for each in self._moments[name] if each is not None]
            if len(moments) < len(layers) or any(each is None for each in observers):
                continue
            weight = attribute(self._observed, name).detach()
            grids = [Grid.of(each, weight) for each in observers]
            if all(each.axis == 0 and torch.equal(each.scale, grids[0].scale) for each in grids):
                set_parameter(self._observed, name, _take_up(weight, torch.stack(moments).mean(0), grids[0]))


@dataclass(frozen=True)
class Grid:
    """The numbers that a weight may have."""

    scale: Tensor
    """One for each output channel, along `axis`, or for all (None)."""
    axis: int | None
    low: int
    high: int

    @staticmethod
    def of(observer: Any, weight: Tensor) -> Grid:
        """The grid of a weight's observer; one of a weight that it has not seen."""
        scale, _ = observer.calculate_qparams()
        by_channel = isinstance(observer, PerChannelMinMaxObserver)
        axis = observer.ch_axis if by_channel else None
        view = [-1 if axis == each else 1 for each in range(weight.dim())]
        return Grid(scale.view(view) if by_channel else scale, axis, observer.quant_min, observer.quant_max)

    def round(self, weight: Tensor) -> Tensor:
        """The nearest of them."""
        return (weight / self.scale).round().clamp(self.low, self.high) * self.scale


@dataclass(frozen=True)
class _Operands:
    """What a layer reads."""

    node: Node
    weight: Tensor
    values: Sequence[Tensor]
    """For each input."""
    has_bias: bool
    """Whether a bias may take back the mean error."""


def _rounded(operands: _Operands, grid: Grid, operators: Operators) -> Tensor | None:
    """The weight rounded for the operands; None for a kind of layer, or a size, that it is not done for."""
    moments = _moments_of(operands, operators) if grid.axis == 0 else None
    return None if moments is None else _take_up(operands.weight, moments, grid)


def sizes_of(node: Node, weight: Tensor, operators: Operators) -> tuple[int | None, int]:
    """How many groups of channels a layer has, and how many inputs an output channel has; None for other layers."""
    target = str(node.target)
    if target.startswith("aten.linear."):
        return 1, weight.shape[1]
    if target in ("aten.conv1d.default", "aten.conv2d.default") and operators.channel_axis(node) == 0:
        return arguments_of(node).get("groups", 1), weight[0].numel()
    return None, 0


def _moments_of(operands: _Operands, operators: Operators) -> Tensor | None:
    """The second moments [groups, inputs, inputs] of what output channels read, about the mean if a bias has that; None
    for a kind of layer, or a size, that is not rounded."""
    groups, inputs = sizes_of(operands.node, operands.weight, operators)
    if groups is None or inputs > LARGEST_INPUTS:
        return None
    second = torch.zeros(groups, inputs, inputs)
    first, count = torch.zeros(groups, inputs), 0
    for value in operands.values:
        columns = columns_of(operands.node, operands.weight, value, groups)
        step = max(-(-columns.shape[-1] * len(operands.values) // LARGEST_ROWS), 1)
        columns = columns[..., ::step]
        second += columns @ columns.transpose(-1, -2)
        first += columns.sum(-1)
        count += columns.shape[-1]
    if count < 2 or not bool(second.isfinite().all()):
        return None
    mean = first / count if operands.has_bias else torch.zeros_like(first)
    moments = second / count - mean[:, :, None] * mean[:, None, :]
    return draw_to_diagonal(moments, count)


def columns_of(node: Node, weight: Tensor, operand: Tensor, groups: int) -> Tensor:
    """What output channels read at each position, [groups, inputs, positions]."""
    if str(node.target).startswith("aten.linear."):
        return operand.reshape(-1, operand.shape[-1]).T[None]
    arguments = arguments_of(node)
    spatial = weight.dim() - 2
    given = {name: arguments.get(name, default) for name, default in (("stride", 1), ("padding", 0), ("dilation", 1))}
    sizes = {name: [value] * spatial if isinstance(value, int) else list(value) for name, value in given.items()}
    sizes = {name: value * spatial if len(value) < spatial else value for name, value in sizes.items()}
    kernel, image = list(weight.shape[2:]), operand
    if spatial == 1:
        kernel, image = [1, *kernel], operand[..., None, :]
        sizes = {name: [0 if name == "padding" else 1, *value] for name, value in sizes.items()}
    image = image.reshape(-1, *image.shape[-3:])
    dilation, padding, stride = (tuple(map(int, sizes[name])) for name in ("dilation", "padding", "stride"))
    columns = functional.unfold(image, tuple(kernel), dilation, padding, stride)
    return columns.reshape(len(image), groups, -1, columns.shape[-1]).permute(1, 2, 0, 3).flatten(2)


def _take_up(weight: Tensor, moments: Tensor, grid: Grid) -> Tensor:
    """A weight on its grid, which has a scale for each output channel, rounded for inputs with these moments."""
    groups, size, _ = moments.shape
    scales = grid.scale.reshape(groups, -1)
    mean = moments.diagonal(dim1=-2, dim2=-1).mean(-1)
    damping = DAMPING * mean + 1e-8 * mean.max().clamp(min=1e-20)
    feedback = Feedback.of(moments + damping[:, None, None] * torch.eye(size))

    def round_column(_: int, rest: Tensor) -> Tensor:
        return (rest[:, 0] / scales).round_().clamp_(grid.low, grid.high).mul_(scales)

    # Columns are rows here: each is contiguous.
    columns = weight.reshape(groups, -1, size).mT.contiguous()
    return round_in_turn(columns, feedback, round_column).mT.reshape(weight.shape).contiguous()
