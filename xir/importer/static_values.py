"""What a program makes of constants alone by writing in place, computed when it is imported.

Masks are often filled in piece by piece (`mask[:, :4] = 1`), through views, which has no form in the IR. Where no input
is involved the result is a constant, and torch's functionalisation, which traces the whole program again, is spared.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's schema begin with an underscore.

import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node
from torch.utils import _pytree as pytree

from .aliasing import Operator, mutated_argument
from .dtypes import is_dynamic, is_open

MAX_BYTES = 2**26
"""The most that all results may take."""

SHAPE_ONLY = frozenset(
    f"aten::{name}" for name in ("new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like")
)
"""Operators that look at their first operand's type alone."""


def static_values(program: ExportedProgram) -> dict[Node, Any]:
    """The values of the nodes that depend on no input and no parameter; empty where nothing is written in place.

    A node is left out if its value cannot replace it: memory that it shares is written to after another node has read
    it, or by an operator that needs an input, or the constant would be large.
    """
    nodes = list(program.graph.nodes)
    if not any(isinstance(node.target, Operator) and node.target._schema.is_mutable for node in nodes):
        return {}
    order = {node: index for index, node in enumerate(nodes)}
    constants = constant_tensors(program, nodes)
    values: dict[Node, Any] = dict(constants)
    written = {memory_of(value): -1 for value in values.values()}
    """The memory of values -> where in the program it is written to last; the constants' own may not be."""
    own = set(written)
    with torch.no_grad():
        for node in nodes:
            target = mutated_argument(node) if isinstance(node.target, Operator) else None
            if not is_static(node, values):
                if target in values:
                    return {}
                continue
            if target is not None:
                memory = memory_of(values[target])
                if memory in own:
                    return {}
                written[memory] = order[node]
            values[node] = evaluate(node, values)
    results = {node: value for node, value in values.items() if node not in constants}
    tensors = {node: value for node, value in results.items() if isinstance(value, torch.Tensor)}
    for node, value in tensors.items():
        if any(user not in values and order[user] < written.get(memory_of(value), -1) for user in node.users):
            return {}
    taken = (value.nbytes for node, value in tensors.items() if any(user not in values for user in node.users))
    return results if sum(taken) <= MAX_BYTES else {}


def constant_tensors(program: ExportedProgram, nodes: list[Node]) -> dict[Node, torch.Tensor]:
    """The tensors that are written in the program's text, by their placeholders."""
    placeholders = (node for node in nodes if node.op == "placeholder")
    found: dict[Node, torch.Tensor] = {}
    for node, spec in zip(placeholders, program.graph_signature.input_specs, strict=True):
        value = program.constants.get(spec.target) if spec.target is not None else None
        if spec.kind is InputKind.CONSTANT_TENSOR and isinstance(value, torch.Tensor):
            found[node] = value
    return found


def is_static(node: Node, values: dict[Node, Any]) -> bool:
    """Whether a node computes the same each time, from `values` alone."""
    if node.op != "call_function":
        return False
    if not isinstance(node.target, Operator):
        return node.target is operator.getitem and node.args[0] in values
    if torch.Tag.nondeterministic_seeded in node.target.tags or not node.target._schema.returns:
        return False
    needed = node.all_input_nodes
    if node.target._schema.name in SHAPE_ONLY and node.args and not is_dynamic(node.meta["val"]):
        needed = [operand for operand in needed if operand is not node.args[0]]
    elif not needed and is_dynamic(node.meta["val"]):
        return False
    return all(operand in values for operand in needed)


def evaluate(node: Node, values: dict[Node, Any]) -> Any:
    """Run one node."""
    assert callable(node.target)

    def value_of(leaf: Any) -> Any:
        if not isinstance(leaf, Node):
            return leaf
        if leaf in values:
            return values[leaf]
        like = leaf.meta["val"]
        return torch.empty((), dtype=like.dtype).expand([1 if is_open(size) else int(size) for size in like.shape])

    args, kwargs = pytree.tree_map(value_of, (node.args, node.kwargs))
    return node.target(*args, **kwargs)


def memory_of(value: Any) -> Any:
    """What tells tensors apart that share memory from those that do not."""
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else id(value)
