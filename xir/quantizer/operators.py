"""Which part an fx node plays in quantisation, from the table beside the legalisation rules."""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from xir.importer.aliasing import Operator, functional_form
from xir.importer.arguments import by_name, call_of, overload_for
from xir.importer.decompose import Decomposer, can_decompose, row_of
from xir.transforms.xnnpack.legalizations import RULES, Quantized

CLAMPS = frozenset({"edge.relu", "edge.hardtanh", "edge.clamp"})
"""What XNNPACK's integer nodes do to their own output, at no cost."""

STEEP = frozenset(f"edge.{name}" for name in "exp log rsqrt sqrt square sin cos floor ceil".split())
"""Functions of the table that make a small error of their operand a large one of the result. They stay in float unless
they are asked for by `set_operator_type`; else a root mean square norm written by hand would compute in 8 bits."""

_WEIGHTED_ARGUMENTS = {"edge.addmm": ("mat1", "mat2")}
_BIAS = {"edge.addmm": "self"}
_TRANSPOSED_WEIGHT = frozenset({"edge.addmm", "edge.conv_transpose1d", "edge.conv_transpose2d.input"})


class Operators:
    """The edge ops that fx nodes become. Remembers the decompositions that it traces."""

    def __init__(self) -> None:
        self._decomposer = Decomposer()
        self._known: dict[Node, tuple[str, Quantized | None]] = {}

    def name(self, node: Node) -> str:
        """The edge op's name; the operator's own where several edge ops stand for it."""
        return self._find(node)[0]

    def kind(self, node: Node) -> Quantized | None:
        """How the node takes part; None for what computes in float.

        An operator that is several edge ops is what one of them is if the others only move data, and moves data if all
        do.
        """
        return self._find(node)[1]

    def _find(self, node: Node) -> tuple[str, Quantized | None]:
        if node not in self._known:
            self._known[node] = self._classify(node)
        return self._known[node]

    def _classify(self, node: Node) -> tuple[str, Quantized | None]:
        target = node.target
        if target is operator.getitem:
            source = node.args[0]
            assert isinstance(source, Node)
            return "getitem", Quantized.MOVES if self.kind(source) is Quantized.MOVES else None
        if node.op != "call_function" or not isinstance(target, Operator):
            return str(target), None
        if target._schema.is_mutable:
            target = functional_form(target) or target
        row = row_of(target)
        if row is not None:
            name = overload_for(row, by_name(target, *call_of(node, target))).name
            return name, RULES[name].quantized if name in RULES else None
        return str(target), self._kind_of_parts(node, target) if can_decompose(target) else None

    def _kind_of_parts(self, node: Node, target: Operator) -> Quantized | None:
        found = self._decomposer.graph(target, *call_of(node, target), node.meta.get("val"))
        if found is None:
            return None
        graph, inputs = found
        kinds = [self._classify(part)[1] for part in graph.graph.nodes if part.op == "call_function"]
        if len(inputs) > 1 and Quantized.WEIGHTED not in kinds:
            return None
        others = [kind for kind in kinds if kind is not Quantized.MOVES]
        return Quantized.MOVES if not others else others[0] if len(others) == 1 else None

    def weighted_arguments(self, node: Node) -> tuple[Node | None, Node | None]:
        """Activation and weight of a WEIGHTED node."""
        names = _WEIGHTED_ARGUMENTS.get(self.name(node), ("input", "weight"))
        arguments = arguments_of(node)
        value, weight = (arguments.get(name) for name in names)
        return value if isinstance(value, Node) else None, weight if isinstance(weight, Node) else None

    def bias(self, node: Node) -> Node | None:
        """The bias of a WEIGHTED node."""
        value = arguments_of(node).get(_BIAS.get(self.name(node), "bias"))
        return value if isinstance(value, Node) else None

    def channel_axis(self, node: Node) -> int | None:
        """The dimension of a WEIGHTED node's weight that counts output channels; None if several channels share one."""
        transposed = self.name(node) in _TRANSPOSED_WEIGHT or bool(arguments_of(node).get("transposed"))
        if not transposed:
            return 0
        return 1 if arguments_of(node).get("groups", 1) == 1 else None


def arguments_of(node: Node) -> dict[str, Any]:
    """The node's arguments by their names in the schema."""
    assert isinstance(node.target, Operator)
    return by_name(node.target, node.args, dict(node.kwargs))


def is_float_tensor(value: Any) -> bool:
    """Whether an fx node's value is a tensor of fp32, or several of them."""
    if isinstance(value, list | tuple):
        return bool(value) and is_float_tensor(value[0])
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32
