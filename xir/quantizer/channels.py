"""Channels that may be scaled: which values share a factor by channel, and which weights take it in and out again.

Scaling a channel of a value by a positive number, in the weights and the bias that make it, and by the inverse in the
weights that read it, changes no result if all between them only adds, averages, picks or clamps at zero (Nagel et al.,
"Data-Free Quantization Through Weight Equalization and Bias Correction", 2019). A residual stream of sums is one such
group; so is what lies between an expanding and a depthwise convolution.
"""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from xir.importer.aliasing import Operator
from xir.importer.dtypes import is_open
from xir.transforms.xnnpack.legalizations import Quantized

from .observers import PerChannelRange, Range
from .operators import Operators, arguments_of
from .parameter_readers import ParameterReaders, unobserved

_POOLS = frozenset({"edge.adaptive_avg_pool2d", "edge.avg_pool2d", "edge.max_pool2d", "edge.dropout"})
_CONVOLUTIONS = ("aten.conv1d.", "aten.conv2d.")
_CLAMPS = {"edge.relu": None, "edge.hardtanh": "max_val", "edge.clamp": "max"}
"""What may clamp at zero, with the argument that has its upper bound."""
_LOWER = {"edge.hardtanh": "min_val", "edge.clamp": "min"}


@dataclass(frozen=True)
class Scaled:
    """A weight or bias, and its dimension that counts a group's channels."""

    name: str
    """The attribute's."""
    axis: int
    repeats: int = 1
    """How many neighbouring indices of the dimension belong to a channel."""


@dataclass
class ChannelGroup:
    """Values that share a factor by channel."""

    values: list[Node] = field(default_factory=list[Node])
    axis: int = 1
    """The dimension of the values that counts channels."""
    producers: list[Scaled] = field(default_factory=list[Scaled])
    """Weights and biases that are multiplied by the factor."""
    consumers: list[Scaled] = field(default_factory=list[Scaled])
    """Weights that are divided by it."""
    mixing: bool = False
    """Whether a weight that reads the values has scales over several channels, and so rounds worse if they differ."""
    bounds: dict[Node, float] = field(default_factory=dict[Node, float])
    """Results of clamps with an upper bound above zero, and that bound."""
    quantized: list[Node] = field(default_factory=list[Node])
    """Those of the values that are converted to integers with a range known before."""


def find_groups(observed: GraphModule) -> list[ChannelGroup]:
    """The groups of a prepared graph that have weights on both sides, in the order of the graph."""
    return _Finder(observed).find()


class _Finder:
    """One walk over a graph."""

    def __init__(self, observed: GraphModule):
        self._observed = observed
        self._operators = Operators()
        self._readers = ParameterReaders(observed.graph)
        self._parents: dict[Node, Node] = {}
        self._fixed: set[Node] = set()
        """Values whose channels stay as they are."""
        self._axes: dict[Node, int] = {}
        self._makes: dict[Node, list[Scaled]] = {}
        self._reads: dict[Node, list[Scaled]] = {}
        self._mixes: set[Node] = set()
        self._bounds: dict[Node, float] = {}

    def find(self) -> list[ChannelGroup]:
        for node in self._observed.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self._fixed.add(node)
            elif node.op == "output" or (node.op == "call_function" and not self._take(node)):
                self._fixed.update((node, *self._operands(node)))
        groups: dict[Node, ChannelGroup] = {}
        for node in self._observed.graph.nodes:
            if node.op == "call_function":
                self._collect(node, groups.setdefault(self._root(node), ChannelGroup()))
        fixed = {self._root(node) for node in self._fixed}
        return [
            group
            for root, group in groups.items()
            if root not in fixed and group.producers and group.consumers and group.quantized
        ]

    def _collect(self, node: Node, group: ChannelGroup) -> None:
        group.values.append(node)
        group.axis = self._axes.get(node, 1)
        group.producers += self._makes.get(node, [])
        group.consumers += self._reads.get(node, [])
        group.mixing |= node in self._mixes
        if node in self._bounds:
            group.bounds[node] = self._bounds[node]
        if any(each.op == "call_module" and isinstance(self._observer(each), Range) for each in node.users):
            group.quantized.append(node)

    def _take(self, node: Node) -> bool:
        """Note what a node does to channels. False if it does not let them be scaled."""
        if is_open(node.meta["val"].shape[1] if getattr(node.meta.get("val"), "ndim", 0) > 1 else 0):
            return False
        if self._operators.kind(node) is Quantized.WEIGHTED:
            return self._take_weighted(node)
        name, operands = self._operators.name(node), self._operands(node)
        if not operands or any(each.op != "call_function" for each in operands):
            return False
        if name in _CLAMPS:
            if _argument(node, _LOWER.get(name)) not in (None, 0):
                return False
            bound = _argument(node, _CLAMPS[name])
            if bound is not None:
                if not isinstance(bound, int | float) or bound <= 0:
                    return False
                self._bounds[node] = float(bound)
        elif name == "edge.add.Tensor":
            if len(operands) != 2 or not _same(*(each.meta["val"].shape for each in operands)):
                return False
        elif name not in _POOLS and not self._is_plain_view(node):
            return False
        axes = {self._axes.get(each) for each in operands}
        if len(axes) > 1 or None in axes or (name in _POOLS and axes != {1}):
            return False
        self._axes[node] = self._axes[operands[0]]
        for each in operands:
            self._parents[self._root(each)] = self._root(node)
        return True

    def _is_plain_view(self, node: Node) -> bool:
        """Whether a node makes [N, C] of [N, C, 1, 1]."""
        if not str(node.target).startswith(("aten.flatten.", "aten.view.", "aten.reshape.", "aten.squeeze.")):
            return False
        before, after = (each.meta["val"].shape for each in (self._operands(node)[0], node))
        return _same(before[:2], after) and _same(before[2:], [1] * len(before[2:]))

    def _take_weighted(self, node: Node) -> bool:
        value, weight = self._operators.weighted_arguments(node)
        bias = self._operators.bias(node)
        dense = str(node.target).startswith("aten.linear.")
        if value is None or weight is None or not (dense or str(node.target).startswith(_CONVOLUTIONS)):
            return False
        value, name = unobserved(value), self._readers.owned(weight)
        shift = None if bias is None else self._readers.owned(bias)
        if name is None or (bias is None) != (shift is None):
            return False
        if weight.op == "call_module" and not isinstance(self._observer(weight), PerChannelRange):
            return False
        shape = weight.meta["val"].shape if "val" in weight.meta else unobserved(weight).meta["val"].shape
        axis = node.meta["val"].dim() - 1 if dense else 1
        if not dense and node.meta["val"].dim() != len(shape):
            return False  # an image without a batch
        self._axes[node] = axis
        self._makes[node] = [Scaled(name, 0)]
        if shift is not None:
            self._makes[node].append(Scaled(shift, 0))
        groups = 1 if dense else arguments_of(node).get("groups", 1)
        if value.op != "call_function" or self._axes.get(value) != axis or (groups > 1 and shape[1] != 1):
            self._fixed.add(value)
        else:
            repeats = int(shape[0]) // groups if groups > 1 else 1
            self._reads.setdefault(value, []).append(Scaled(name, 0 if groups > 1 else 1, repeats))
            if groups == 1:
                self._mixes.add(value)
        return True

    def _operands(self, node: Node) -> list[Node]:
        return [unobserved(each) for each in node.all_input_nodes]

    def _observer(self, node: Node) -> object:
        return operator.attrgetter(str(node.target))(self._observed)

    def _root(self, node: Node) -> Node:
        while node in self._parents and self._parents[node] is not node:
            node = self._parents[node]
        return node


def _argument(node: Node, name: str | None) -> Any:
    """An argument of a call, or what it is by default; None without a name."""
    if name is None:
        return None
    assert isinstance(node.target, Operator)
    defaults = {each.name: each.default_value for each in node.target._schema.arguments}
    return (defaults | arguments_of(node)).get(name)


def _same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether sizes are known to be equal, open ones as well."""
    return len(left) == len(right) and all(
        statically_known_true(one == other) for one, other in zip(left, right, strict=True)
    )
