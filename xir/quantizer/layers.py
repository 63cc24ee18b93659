"""What the layers of an exported graph are called."""

from __future__ import annotations

from torch.fx import Node


def _stack(node: Node) -> list[tuple[str, str]]:
    """Path and type of the modules around a node, the outermost first."""
    stack: list[tuple[str, str]] = []
    for path, kind in node.meta.get("nn_module_stack", {}).values():
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        stack.append((path.removeprefix("L['self']").removeprefix("."), name))
    return stack


def module_path(node: Node) -> str:
    """The path of the innermost module that the node comes from; empty for the model's own."""
    stack = _stack(node)
    return stack[-1][0] if stack else ""


def module_types(node: Node) -> list[str]:
    """The types of the modules around the node, the outermost first."""
    return [name for _, name in _stack(node)]


def operator_name(node: Node) -> str:
    """`aten.add` of `aten.add.Tensor`."""
    return str(node.target).rpartition(".")[0]


def names_of(node: Node) -> tuple[str, ...]:
    """What a pattern may match: the node's name, its operator, and the modules around it."""
    return (node.name, operator_name(node), str(node.target), *(path for path, _ in _stack(node)))
