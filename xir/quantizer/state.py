"""The buffers of a graph while it runs node by node, and the call of a node."""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.fx import GraphModule, Node


class GraphState:
    """The buffers of one graph, which are written to in place as the graph says, views of them as well."""

    def __init__(self, module: GraphModule):
        self._module = module
        names = {str(node.target) for node in module.graph.nodes if node.op == "get_attr"}
        is_written = any(writes(node) for node in module.graph.nodes)
        self._values = {name: value.clone() for name, value in module.named_buffers() if is_written and name in names}
        self._places = {value.untyped_storage().data_ptr() for value in self._values.values()}

    def take(self, other: GraphState) -> None:
        """Hold what the buffers of the other graph do."""
        for name, value in other._values.items():
            if name in self._values:
                self._values[name].copy_(value)

    def read(self, name: str) -> Any:
        """A buffer, parameter or constant of the module."""
        found = self._values.get(name)
        return attribute(self._module, name) if found is None else found

    def owns(self, value: Tensor) -> bool:
        """Whether a tensor is one of the buffers, or a view of one."""
        return value.untyped_storage().data_ptr() in self._places

    def leave(self) -> None:
        """Begin the next call: what is in the buffers has no gradients any more."""
        self._values = {name: value.detach() for name, value in self._values.items()}


def call(node: Node, values: dict[Node, Any], state: GraphState) -> Any:
    """The node's result. What it writes to is copied first, for gradients need it, unless it is a buffer."""
    is_written = writes(node)

    def value(operand: Node) -> Any:
        found = values[operand]
        return found.clone() if is_written and isinstance(found, Tensor) and not state.owns(found) else found

    return computed(node, {operand: value(operand) for operand in node.all_input_nodes})


def computed(node: Node, values: Mapping[Node, Any]) -> Any:
    """What a node makes of its operands' values, which it writes to if it is one that writes."""
    assert callable(node.target)
    args, kwargs = torch.fx.map_arg((node.args, dict(node.kwargs)), values.__getitem__)
    return node.target(*args, **kwargs)


def writes(node: Node) -> bool:
    """Whether a node writes to one of its operands."""
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable


def attribute(module: nn.Module, name: str) -> Any:
    """The parameter, buffer or constant of a dotted name."""
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part)
    return value


def set_parameter(module: GraphModule, name: str, value: Tensor) -> None:
    """Give a parameter of a dotted name another value."""
    path, _, last = name.rpartition(".")
    setattr(module.get_submodule(path), last, nn.Parameter(value, requires_grad=False))
