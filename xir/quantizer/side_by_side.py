"""Two graphs of one program, run in step: each node of the one on the exact operands that the other has there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from .state import GraphState, attribute, computed, writes


class SideBySide:
    """Runs `reference` as it is, buffers that it writes to included, and `other` beside it.

    `twins` are the nodes of both graphs that stand for the same value, in the same order. A node of `other` without
    one has the value that was kept for it.
    """

    def __init__(self, reference: GraphModule, other: GraphModule, twins: Mapping[Node, Node]):
        self._graphs = reference, other
        self._twins = twins
        self._state = GraphState(reference)
        self._buffers = {name for name, _ in reference.named_buffers()}
        self._exact: dict[Node, Any] = {}
        self._before: dict[Node, Any] = {}
        """What a node that writes has read."""
        self._kept: dict[Node, Any] = {}

    def run(self, sample: tuple[Any, ...]) -> Iterator[tuple[Node, Any]]:
        """The calls of `other`, in order, with the exact result of each; None where it has no twin."""
        reference, other = self._graphs
        self._exact, self._kept = {}, {}
        steps, feeds = iter(reference.graph.nodes), iter(sample)
        with torch.no_grad():
            for node in other.graph.nodes:
                if node.op == "output":
                    return
                twin = self._twins.get(node)
                self._before = {}
                while twin is not None and twin not in self._exact:
                    step = next(steps)
                    if step is twin and writes(step):
                        self._before = {
                            each: value.clone() if isinstance(value := self._exact[each], Tensor) else value
                            for each in step.all_input_nodes
                        }
                    self._exact[step] = next(feeds) if step.op == "placeholder" else self._computed(step)
                if node.op == "call_function":
                    yield node, None if twin is None else self._exact[twin]

    def _computed(self, node: Node) -> Any:
        if node.op == "get_attr":
            return self._state.read(str(node.target))
        if node.op != "call_function":
            return None
        return computed(node, self._exact)

    def exact(self, node: Node) -> Any:
        """The value of a node of the reference, as it is read now."""
        return self._before[node] if node in self._before else self._exact[node]

    def value(self, node: Node) -> Any:
        """The value of a node of `other`: the exact one if it has one."""
        if node in self._kept:
            return self._kept[node]
        if node in self._twins:
            return self.exact(self._twins[node])
        assert node.op == "get_attr", node
        name = str(node.target)
        for each, value in self._before.items():
            if each.op == "get_attr" and str(each.target) == name:
                return value
        return self._state.read(name) if name in self._buffers else attribute(self._graphs[1], name)

    def compute(self, node: Node) -> Any:
        """What a node of `other` makes of its operands' values, which it does not change."""
        values = {each: self.value(each) for each in node.all_input_nodes}
        if writes(node):
            values = {each: value.clone() if isinstance(value, Tensor) else value for each, value in values.items()}
        return computed(node, values)

    def keep(self, node: Node, value: Any) -> None:
        """Let a node of `other` have this value until the run ends."""
        self._kept[node] = value


def run_alone(graph: GraphModule, sample: tuple[Any, ...]) -> list[Any]:
    """What a graph returns. Its buffers stay as they are."""
    values = dict(values_of(graph, sample))
    end = next(node for node in graph.graph.nodes if node.op == "output")
    return pytree.tree_leaves(torch.fx.map_arg(end.args[0], values.__getitem__))


def values_of(graph: GraphModule, sample: tuple[Any, ...]) -> Iterator[tuple[Node, Any]]:
    """Each node of a graph with its value, as it is once all have been computed. Its buffers stay as they are."""
    state, feeds, values = GraphState(graph), iter(sample), dict[Node, Any]()
    with torch.no_grad():
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(feeds)
            elif node.op == "get_attr":
                values[node] = state.read(str(node.target))
            elif node.op == "call_function":
                values[node] = computed(node, values)
    yield from values.items()
