"""Values in an fx graph that are known before it runs."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .operators import is_float_tensor

LARGE = 1e30
"""Numbers from here on stand for infinity, as in masks; no scale serves them and others at once."""


class Parameters:
    """The parameters, buffers and constants of a graph module, and what is computed from nothing else."""

    def __init__(self, module: GraphModule):
        self._module = module
        self._static: dict[Node, bool] = {}
        for node in module.graph.nodes:
            self._static[node] = node.op == "get_attr" or (
                node.op == "call_function"
                and bool(node.all_input_nodes)
                and all(self._static[each] for each in node.all_input_nodes)
            )

    def is_static(self, node: Node) -> bool:
        """Whether the node's value is the same in every run."""
        return self._static.get(node, False)

    def value(self, node: Node) -> Any:
        """What a `get_attr` node names; None for other nodes."""
        return operator.attrgetter(str(node.target))(self._module) if node.op == "get_attr" else None

    def is_float(self, node: Node) -> bool:
        """Whether the node's value is a tensor of fp32, or several of them; a known one of an unknown type may be."""
        value = self.value(node)
        value = node.meta.get("val") if value is None else value
        return self.is_static(node) if value is None else is_float_tensor(value)

    def is_quantizable(self, node: Node) -> bool:
        """Whether 8 bits can hold the value, as far as it is known: numbers that mean infinity spoil the scale."""
        value = self.value(node)
        if not isinstance(value, torch.Tensor):
            return True
        return value.dtype == torch.float32 and value.numel() > 0 and bool(value.detach().abs().max() < LARGE)
