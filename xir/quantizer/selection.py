"""Which nodes compute on integers in static quantisation.

Products with weights and of matrices always do: that is where time goes. What lies between them follows its neighbours,
so that no op is an island between two conversions, and nothing loses accuracy for the sake of a float neighbour:

- An elementwise op computes on integers if each computed operand comes from integers (or from the program's inputs) and
  its result gets to an integer op, or to nothing but the program's outputs. The residual stream of a transformer, which
  only layer norms read, thus stays float; that of a convolutional network does not.
- An op that only moves data does so to integers that it is given; it gets its operand quantised first where that is for
  integer ops alone. One with several results, as `chunk`, is one decision for all of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import Flag, auto

from torch.fx import Graph, Node

from xir.transforms.xnnpack.legalizations import Quantized

from .operators import CLAMPS, Operators, is_float_tensor
from .parameters import Parameters


class _Place(Flag):
    """Where values come from or get to; several at once."""

    NOWHERE = 0
    INTEGERS = auto()
    FLOATS = auto()
    BOUNDARY = auto()
    """The program's inputs, or its outputs."""


_ANCHORS = (Quantized.WEIGHTED, Quantized.MATRICES)
_ELEMENTWISE = (Quantized.OPERANDS, Quantized.TABLE)


class Selection:
    """The nodes of a graph that compute on integers, and the operations that they form."""

    def __init__(self, graph: Graph, operators: Operators, parameters: Parameters, wanted: Callable[[Node], bool]):
        """`wanted` says for a node that could whether it may."""
        self._operators = operators
        self._parameters = parameters
        self._kinds = {node: self._kind(node) if wanted(node) else None for node in graph.nodes}
        self._reach = self._find_reach(graph)
        self.tails: dict[Node, tuple[Node, ...]] = {}
        """Behind a node: the batch norm (before it is folded) and the clamp that its integer form includes."""
        self.kinds: dict[Node, Quantized] = {}
        """The integer nodes, in order, without those in tails."""
        self._decide(graph)

    def _kind(self, node: Node) -> Quantized | None:
        kind = self._operators.kind(node)
        if kind is None or not is_float_tensor(node.meta.get("val")):
            return None
        if kind is Quantized.WEIGHTED:
            value, weight = self._operators.weighted_arguments(node)
            computed = value is not None and not self._parameters.is_static(value)
            return kind if computed and weight is not None and self._parameters.is_static(weight) else None
        if kind in _ELEMENTWISE and not all(map(self._parameters.is_quantizable, self._operands(node))):
            return None
        return kind

    def _operands(self, node: Node) -> list[Node]:
        return [operand for operand in node.all_input_nodes if self._parameters.is_float(operand)]

    def _find_reach(self, graph: Graph) -> dict[Node, _Place]:
        """What each node's result gets to, through ops that pass values on."""
        reach: dict[Node, _Place] = {}
        for node in reversed(graph.nodes):
            places = _Place.NOWHERE
            for user in node.users:
                kind = self._kinds[user]
                if user.op == "output":
                    places |= _Place.BOUNDARY
                elif kind in _ANCHORS:
                    places |= _Place.INTEGERS
                else:
                    places |= reach[user] if kind is not None else _Place.FLOATS
            reach[node] = places
        return reach

    def _decide(self, graph: Graph) -> None:
        origins: dict[Node, _Place] = {}
        done: set[Node] = set()
        for node in graph.nodes:
            if node in done:
                continue
            sources = [origins[each] for each in self._operands(node) if not self._parameters.is_static(each)]
            origins[node] = self._origin(node, sources)
            kind = self._kinds[node]
            if kind is None or not self._is_chosen(node, kind, sources):
                continue
            self.kinds[node] = kind
            self.tails[node] = tail = self._tail(node, kind)
            for each in tail:
                origins[each] = origins[node]
            done.update(tail)

    def _origin(self, node: Node, sources: list[_Place]) -> _Place:
        kind = self._kinds[node]
        if node.op == "placeholder":
            return _Place.BOUNDARY
        if kind is Quantized.MOVES:
            joined = _Place.NOWHERE
            for source in sources:
                joined |= source
            return joined
        chosen = kind is not None and self._is_chosen(node, kind, sources)
        return _Place.INTEGERS if chosen else _Place.FLOATS

    def _is_chosen(self, node: Node, kind: Quantized, sources: list[_Place]) -> bool:
        if kind in _ANCHORS:
            return True
        if node.target is operator.getitem:
            return node.args[0] in self.kinds
        if not sources:
            return False
        reach = self._reach[node]
        useful = _Place.INTEGERS in reach or reach == _Place.BOUNDARY
        exact = not any(_Place.FLOATS in source for source in sources)
        if kind is not Quantized.MOVES:
            return exact and useful
        from_integers = any(_Place.INTEGERS in source for source in sources)
        if len(self._operands(node)) > 1:
            return exact and useful and from_integers
        return (exact and from_integers) or reach == _Place.INTEGERS

    def _tail(self, node: Node, kind: Quantized) -> tuple[Node, ...]:
        """The nodes behind `node` that become part of it: each its predecessor's only user."""
        if kind is not Quantized.WEIGHTED and not (kind is Quantized.OPERANDS and len(node.all_input_nodes) > 1):
            return ()
        tail: list[Node] = []
        last = node
        for is_next in (self._is_batch_norm, self._is_clamp):
            if is_next is self._is_batch_norm and kind is not Quantized.WEIGHTED:
                continue
            user = next(iter(last.users)) if len(last.users) == 1 else None
            if user is not None and user.args[0] is last and is_next(user):
                tail.append(user)
                last = user
        return tuple(tail)

    def _is_batch_norm(self, node: Node) -> bool:
        return str(node.target).startswith("aten.batch_norm.")

    def _is_clamp(self, node: Node) -> bool:
        return self._operators.name(node) in CLAMPS and self._kinds[node] is not None
