"""Bias correction: what rounding a channel's weights adds to its mean, its bias takes back.

Behind a ReLU values are not zero on average, so that the errors of a channel's weights add up to an offset that is much
the same for all inputs (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019).
Here the averages are those of the calibration inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torchao.quantization.pt2e.observer import PerChannelMinMaxObserver

from .operators import Operators
from .parameter_readers import ParameterReaders
from .state import attribute, set_parameter


@dataclass
class MeanOperand:
    """What a product with weights has read: by shape, the mean without batch dimensions and how many had it."""

    weight: Tensor
    means: dict[torch.Size, Tensor] = field(default_factory=dict)
    counts: dict[torch.Size, int] = field(default_factory=dict)

    def add(self, value: Tensor) -> None:
        """Take in an operand: a batch of images [..., C, spatial], or of vectors [..., inputs]."""
        if not value.numel():
            return  # no samples have no mean
        batch = value.dim() - (self.weight.dim() - 1)
        samples = value.reshape(-1, *value.shape[batch:])
        mean, shape = samples.mean(0, keepdim=True), samples.shape[1:]
        self.counts[shape] = count = self.counts.get(shape, 0) + len(samples)
        before = self.means.get(shape, mean)
        self.means[shape] = before + (mean - before) * (len(samples) / count)


class OperandMeans:
    """An observed graph, and the averages of what its products with weights read."""

    def __init__(self, observed: GraphModule, names: Collection[str]):
        """`names` are the nodes to watch."""
        self.observed = observed
        self._operators = Operators()
        self._seen = dict[str, MeanOperand]()
        self._names = frozenset(names)

    def watching(self, graph: GraphModule) -> Interpreter:
        """What runs `graph`, a form of the observed one, and takes the averages."""
        return _Watching(graph, self)

    def see(self, node: Node, values: Mapping[Node, Any]) -> None:
        """Take in what a node reads."""
        if node.name in self._names:
            value, weight = (values[each] for each in self._operands(node))
            self._seen.setdefault(node.name, MeanOperand(weight)).add(value)

    def _operands(self, node: Node) -> tuple[Node, Node]:
        value, weight = self._operators.weighted_arguments(node)
        assert value is not None
        assert weight is not None
        return value, weight

    def correct_biases(self) -> None:
        """Give each layer the bias with which its mean is that of exact weights. A bias of several layers stays."""
        readers = ParameterReaders(self.observed.graph)
        for node in self.observed.graph.nodes:
            operand = self._operators.bias(node) if node.name in self._seen else None
            name = None if operand is None else readers.owned(operand)
            if name is None:
                continue
            old = attribute(self.observed, name)
            offset = self._offset(node, self._seen[node.name], old)
            if offset.shape == old.shape:
                set_parameter(self.observed, name, old + offset)

    def take_back(self, node: Node, name: str | None, error: MeanOperand, weight: Tensor | None) -> None:
        """Let a layer's bias of this name, if it has one, take back the mean error of its operand, and what another
        weight, if there is one, changes."""
        seen = self._seen[node.name]
        exact = seen.weight if weight is None else weight
        if name is not None:
            old = attribute(self.observed, name)
            shift = self._mean(node, seen, seen.weight - exact, old) - self._mean(node, error, exact, old)
            if shift.shape == old.shape:
                set_parameter(self.observed, name, old + shift)
        seen.weight = exact

    def _offset(self, node: Node, seen: MeanOperand, bias: Tensor) -> Tensor:
        """For each channel, the mean of the exact results less that of the ones with rounded weights."""
        _, weight = self._operands(node)
        error = seen.weight - _rounded(seen.weight, self.observed.get_submodule(str(weight.target)))
        return self._mean(node, seen, error, bias)

    def _mean(self, node: Node, operand: MeanOperand, weight: Tensor, bias: Tensor) -> Tensor:
        """The mean of each channel of a layer with this weight, and without its bias."""
        names = *self._operands(node), self._operators.bias(node)
        total, count = torch.zeros_like(bias), 0
        for shape, mean in operand.means.items():
            operands = dict(zip(names, (mean, weight, torch.zeros_like(bias)), strict=True))
            args, kwargs = torch.fx.map_arg((node.args, dict(node.kwargs)), operands.__getitem__)
            assert callable(node.target)
            results = node.target(*args, **kwargs).movedim(1, -1).flatten(0, -2)
            total = total + results.sum(0) * operand.counts[shape]
            count += len(results) * operand.counts[shape]
        return total / count


class _Watching(Interpreter):
    """Runs a graph and shows each node before it computes."""

    def __init__(self, graph: GraphModule, means: OperandMeans):
        super().__init__(graph)
        self._means = means

    def run_node(self, n: Node) -> Any:
        """The node's result."""
        self._means.see(n, self.env)
        return super().run_node(n)


def _rounded(weight: Tensor, observer: Any) -> Tensor:
    """The weight as the observer will have it quantised."""
    scales, zero_points = observer.calculate_qparams()
    zero_points, limits = zero_points.to(torch.int32), (observer.quant_min, observer.quant_max)
    if isinstance(observer, PerChannelMinMaxObserver):
        return torch.fake_quantize_per_channel_affine(weight, scales, zero_points, observer.ch_axis, *limits)
    return torch.fake_quantize_per_tensor_affine(weight, scales, zero_points, *limits)
