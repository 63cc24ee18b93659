"""What the operands of a layer with weights are for."""

from __future__ import annotations

from torch.fx import Node
from torch.utils import _pytree as pytree

from .operators import arguments_of

_WITH_WEIGHTS = ("aten.conv", "aten.linear", "aten.addmm")


def roles_of(layer: Node) -> dict[str, Node]:
    """Value, weight and bias of a layer with weights; nothing for another node."""
    if not str(layer.target).startswith(_WITH_WEIGHTS):
        return {}
    names = ("mat1", "mat2", "self") if "addmm" in str(layer.target) else ("input", "weight", "bias")
    arguments = arguments_of(layer)
    found = {role: arguments.get(name) for role, name in zip(("value", "weight", "bias"), names, strict=True)}
    return {role: each for role, each in found.items() if isinstance(each, Node)}


def channel_axis(layer: Node) -> int | None:
    """The dimension of a layer's weight that counts output channels, if one does alone, as PyTorch documents them."""
    name, arguments = str(layer.target), arguments_of(layer)
    if "addmm" in name:
        return 1
    if "transpose" in name or arguments.get("transposed"):
        return 1 if arguments.get("groups", 1) == 1 else None
    return 0


def operands_of(node: Node) -> list[Node]:
    """The nodes that one reads, as often as it does, in the order of its arguments."""
    return [each for each in pytree.tree_leaves((node.args, dict(node.kwargs))) if isinstance(each, Node)]


def factor_of(node: Node) -> float | None:
    """The positive number that a node multiplies by."""
    name = str(node.target)
    if not name.startswith(("aten.mul", "aten.div")) or len(node.args) < 2 or not isinstance(node.args[1], int | float):
        return None
    factor = float(node.args[1])
    if factor == 0:
        return None
    return 1 / factor if "div" in name else factor
