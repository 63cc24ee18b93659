"""What reads the parameters of a prepared graph: one that several layers read cannot be changed for one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch.fx import Graph, Node

from .layer_operands import operands_of


class ParameterReaders:
    """What reads each parameter, buffer or constant of a graph, itself or as observed."""

    def __init__(self, graph: Graph):
        self._known: dict[str, list[Node]] = {}
        for node in graph.nodes:
            if node.op == "get_attr":
                self._known.setdefault(str(node.target), []).extend(_readers(node))

    def of(self, name: str) -> Sequence[Node]:
        """The nodes, each as often as it reads the parameter."""
        return self._known.get(name, ())

    def owned(self, operand: Node) -> str | None:
        """The name of the parameter that an operand is, if one node alone reads it, and once."""
        name = parameter_of(operand)
        return name if name is not None and len(self.of(name)) == 1 else None


def parameter_of(operand: Node) -> str | None:
    """The name of the parameter, buffer or constant that an operand is, itself or as observed."""
    node = unobserved(operand)
    return str(node.target) if node.op == "get_attr" else None


def unobserved(operand: Node) -> Node:
    """The value that observers before an operand see."""
    while operand.op == "call_module" and operand.args:
        operand = operand.all_input_nodes[0]
    return operand


def _readers(value: Node) -> Iterator[Node]:
    for user in value.users:
        if user.op == "call_module":
            yield from _readers(user)
        else:
            yield from (user for each in operands_of(user) if each is value)
