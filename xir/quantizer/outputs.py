"""How far the outputs of a quantised graph are from those of the float one.

Numbers in place are compared as they are. Rows that a sort, a top-k or a search has put in order are not: where two of
them change places, each number is compared with another one's. Of such an output, of indices, and of every choice, the
numbers are compared that were ordered or chosen from, in the place where they still have a fixed order.
"""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from .state import GraphState, call

_CHOOSE = ("aten.argmax", "aten.argmin", "aten.argsort", "aten.nonzero", "aten.unique", "aten._unique",
           "aten.bucketize", "aten.searchsorted", "aten.multinomial", "aten.masked_select",
           "torchvision.nms")  # fmt: skip
"""Operators whose results are positions, or lie in the order of a choice."""

_UNKNOWN = torch.empty(0)
"""Of a node of an attribute, whose value is a tensor."""

_CHOOSE_SECOND = ("aten.topk", "aten.sort", "aten.max.dim", "aten.min.dim", "aten.kthvalue", "aten.median.dim",
                  "aten.mode", "aten.cummax", "aten.cummin")  # fmt: skip
"""Those whose second result is positions; the first one is values in order, which are comparable as they are."""


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


@dataclass(frozen=True)
class Output:
    """One tensor that the model returns."""

    sqnr: float
    """In dB; infinite where both programs agree. Of an output that is not `in_place`, that of what it was made of."""
    equal: float
    """The share of its elements that both programs agree in."""
    is_float: bool
    """Whether noise is a measure of it: integers and booleans are indices and choices, and right or wrong."""
    in_place: bool = True
    """Whether its elements have a fixed place. Rows in the order of a sort and positions have none."""
    present: float = 1.0
    """The share of its elements that the other program has as well, in whatever place."""
    before: tuple[str, ...] = ()
    """The nodes whose values were compared instead."""


class FixedPlaces:
    """Which values of a graph have a fixed place, and what those without one were made of."""

    def __init__(self, graph: torch.fx.Graph):
        self._moved: set[Node] = set()
        for node in graph.nodes:
            if node.op == "call_function" and (_chooses(node) or not self._moved.isdisjoint(node.all_input_nodes)):
                self._moved.add(node)

    def is_fixed(self, node: Node) -> bool:
        """Whether no choice decides where the elements of a value are."""
        return node not in self._moved

    def before(self, node: Node) -> list[Node]:
        """The last floating-point values in a fixed place that a value was made of; the value itself if it is one."""
        found: dict[Node, None] = {}
        seen: set[Node] = set()
        pending = [node]
        while pending:
            each = pending.pop()
            if each in seen:
                continue
            seen.add(each)
            if self.is_fixed(each) and _is_float(each):
                found[each] = None
            else:
                pending += each.all_input_nodes
        return [each for each in found if each.op == "call_function"]


def _chooses(node: Node) -> bool:
    target = str(node.target)
    if target.startswith(_CHOOSE) or (
        target.startswith("aten.index.") and any(map(_is_mask, node.all_input_nodes[1:]))
    ):
        return True
    if node.target is not operator.getitem or node.args[1] == 0:
        return False
    return isinstance(node.args[0], Node) and str(node.args[0].target).startswith(_CHOOSE_SECOND)


def _is_mask(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.dtype == torch.bool


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.is_floating_point()


def output_nodes(graph: torch.fx.Graph) -> list[Node]:
    """The nodes of the tensors that a graph returns, in order."""
    last = next(node for node in graph.nodes if node.op == "output")
    nodes = [each for each in pytree.tree_leaves(last.args[0]) if isinstance(each, Node)]
    return [node for node in nodes if isinstance(node.meta.get("val", _UNKNOWN), Tensor)]


@dataclass
class OutputPowers:
    """What has been seen of the outputs of a float graph and of a quantised one, whose nodes have the same names."""

    floats: GraphModule
    nodes: list[Node] = field(init=False)
    """The outputs, of the float graph."""
    compared: list[list[Node]] = field(init=False)
    """For each, the nodes to compare."""

    def __post_init__(self) -> None:
        places = FixedPlaces(self.floats.graph)
        self.nodes = output_nodes(self.floats.graph)
        self._in_place = [places.is_fixed(node) for node in self.nodes]
        self.compared = [
            [node] if fixed and _is_float(node) else places.before(node)
            for node, fixed in zip(self.nodes, self._in_place, strict=True)
        ]
        self._powers: dict[Node, Power] = {}
        self._equal = [[0, 0, 0] for _ in self.nodes]
        """Elements, those that are equal, and those that are there somewhere."""

    def inside(self) -> list[Node]:
        """The nodes of the float graph that are compared and are no outputs."""
        return [node for node in dict.fromkeys(each for nodes in self.compared for each in nodes)
                if node not in self.nodes]  # fmt: skip

    def returned(self, graph: torch.fx.Graph, values: Mapping[Node, Any]) -> dict[Node, Tensor]:
        """What a graph returns, by the float graph's nodes."""
        return {twin: values[node] for twin, node in zip(self.nodes, output_nodes(graph), strict=True)}

    def add(self, exact: Mapping[Node, Tensor], actual: Mapping[Node, Tensor]) -> None:
        """Take in the values of one run, by the float graph's nodes."""
        for node in {each for nodes in self.compared for each in nodes}:
            self._powers.setdefault(node, Power()).add(exact[node], actual[node])
        for counts, node, fixed in zip(self._equal, self.nodes, self._in_place, strict=True):
            want, got = exact[node], actual[node]
            same = int((want == got).sum()) if want.shape == got.shape else 0
            counts[0] += max(want.numel(), got.numel())
            counts[1] += same
            counts[2] += same if fixed or _is_float(node) else _shared(want, got)

    def outputs(self) -> tuple[Output, ...]:
        """What was seen of each output."""
        return tuple(
            Output(
                min((self._powers[each].decibels for each in nodes if each in self._powers), default=math.inf)
                if nodes
                else (math.inf if equal == count else -math.inf),
                equal / count if count else 1.0,
                _is_float(node),
                fixed,
                present / count if count else 1.0,
                () if nodes == [node] else tuple(each.name for each in nodes),
            )
            for node, nodes, fixed, (count, equal, present) in zip(
                self.nodes, self.compared, self._in_place, self._equal, strict=True
            )
        )


def _shared(want: Tensor, got: Tensor) -> int:
    """How many elements of a row are in the same row of the other tensor; of other shapes, in all of it."""
    if want.shape != got.shape or want.dim() < 2:
        return _common(want.flatten().tolist(), got.flatten().tolist())
    rows = zip(want.flatten(0, -2).tolist(), got.flatten(0, -2).tolist(), strict=True)
    return sum(_common(a, b) for a, b in rows)


def _common(a: list[Any], b: list[Any]) -> int:
    return (Counter(a) & Counter(b)).total()


def compare_outputs(
    floats: GraphModule, quantized: GraphModule, samples: Iterable[tuple[Any, ...]]
) -> tuple[Output, ...]:
    """Run both graphs on the samples, each with buffers of its own, and compare what they return."""
    powers = OutputPowers(floats)
    states = GraphState(floats), GraphState(quantized)
    with torch.no_grad():
        for sample in samples:
            pair = zip((floats, quantized), states, strict=True)
            powers.add(*(_run(module, sample, state, powers) for module, state in pair))
    return powers.outputs()


def _run(module: GraphModule, sample: tuple[Any, ...], state: GraphState, powers: OutputPowers) -> dict[Node, Tensor]:
    """What is compared, behind the conversions that the graph has for it, by the float graph's nodes."""
    values: dict[Node, Any] = {}
    found: dict[Node, Tensor] = {}
    wanted = {node.name: node for node in powers.inside()}
    feeds = iter(sample)
    last = {operand: node for node in module.graph.nodes for operand in node.all_input_nodes}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(feeds)
        elif node.op == "get_attr":
            values[node] = state.read(str(node.target))
        elif node.op == "call_function":
            values[node] = call(node, values, state)
        elif node.op == "output":
            found |= powers.returned(module.graph, values)
        if node.name in wanted:
            found[wanted[node.name]] = converted_value(node, values[node]).clone()
        for operand in node.all_input_nodes:
            if last[operand] is node:
                values.pop(operand, None)
    state.leave()
    return found


def converted_value(node: Node, value: Tensor) -> Tensor:
    """The value after the conversions behind the node, if the program quantises it."""
    for quantize in node.users:
        if str(quantize.target).startswith("quantized_decomposed.quantize_per_tensor.default"):
            dequantize = next(iter(quantize.users))
            integers = quantize.target(value, *quantize.args[1:])  # pyright: ignore
            return dequantize.target(integers, *dequantize.args[1:])  # pyright: ignore
    return value
