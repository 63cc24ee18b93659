"""In-place operators as value semantics.

`torch.export` leaves `x.relu_()` in the graph. If x's memory has no other readers, it is the plain operator followed by
renaming x to its result; that covers what models write, and costs nothing. Anything else (writing through a view) is
left to torch's functionalisation, which traces the whole program again.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type, schema and dispatch keys begin with an underscore.

from collections.abc import Container

import torch
from torch.fx import Graph, Node
from torch.utils._pytree import tree_leaves

from xir.ir.diagnostics import DiagnosticError

from .source import node_location

Operator = torch._ops.OpOverload


def functional_form(target: Operator) -> Operator | None:
    """The operator without side effect of an in-place one: `aten.relu` of `aten.relu_`."""
    name = target._schema.name.split("::")[1]
    if not name.endswith("_") or name.endswith("__"):
        return None
    packet = getattr(getattr(torch.ops, target.namespace), name[:-1], None)
    form = getattr(packet, target._overloadname, None)
    if form is None or form._schema.is_mutable:
        return None
    types = [str(a.type) for a in target._schema.arguments]
    return form if [str(a.type) for a in form._schema.arguments] == types else None


def is_composite(target: Operator) -> bool:
    """Its implementation calls other operators, so that its schema's alias annotations do not tell everything."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), "CompositeImplicitAutograd")


def _may_alias(node: Node) -> bool:
    """Whether the node's result may share memory with one of its operands."""
    if not isinstance(node.target, Operator):
        return True
    if any(r.alias_info is not None for r in node.target._schema.returns):
        return True
    return is_composite(node.target) and node.target._schema.name not in _FRESH


_FRESH = frozenset({"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::linear", "aten::matmul", "aten::batch_norm",
                    "aten::layer_norm", "aten::group_norm", "aten::instance_norm", "aten::max_pool2d",
                    "aten::adaptive_avg_pool2d", "aten::softmax", "aten::log_softmax",
                    "aten::scaled_dot_product_attention", "aten::conv_transpose2d"})  # fmt: skip
"""Composite operators that always compute a new tensor."""


class AliasSets:
    """Which nodes may share memory: a union-find, filled in program order."""

    def __init__(self) -> None:
        self._parent: dict[Node, Node] = {}
        self._members: dict[Node, list[Node]] = {}

    def find(self, node: Node) -> Node:
        while (parent := self._parent.get(node, node)) is not node:
            self._parent[node] = node = self._parent.get(parent, parent)
        return node

    def join(self, a: Node, b: Node) -> None:
        a, b = self.find(a), self.find(b)
        if a is not b:
            self._parent[b] = a
            self._members.setdefault(a, [a]).extend(self._members.pop(b, [b]))

    def members(self, node: Node) -> list[Node]:
        return self._members.get(self.find(node), [node])


def mutated_argument(node: Node) -> Node | None:
    """The operand that an in-place node writes to."""
    assert isinstance(node.target, Operator)
    for index, argument in enumerate(node.target._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
            return value if isinstance(value, Node) else None
    return None


def _widens(node: Node, written: Node) -> bool:
    """Whether the functional form's result would have a wider element type than the memory written to."""
    if node.target is torch.ops.aten.copy_.default:
        return False
    assert isinstance(node.target, Operator)
    dtype = written.meta["val"].dtype
    positions: set[Node] = set()
    for argument, value in zip(node.target._schema.arguments, node.args, strict=False):
        if argument.name in ("index", "indices"):  # of elements; their type says nothing of the elements
            positions.update(n for n in tree_leaves(value) if isinstance(n, Node))
    others = (n.meta.get("val") for n in node.all_input_nodes if n not in positions)
    types = [other.dtype for other in others if isinstance(other, torch.Tensor)]
    return any(torch.promote_types(dtype, other) != dtype for other in types)


def _refuse_untracked(node: Node, shared: list[Node]) -> None:
    """In inference dropout returns its operand itself; torch's functionalisation takes the result for a copy, and loses
    what is written to it."""
    for other in shared:
        if isinstance(other.target, Operator) and "dropout" in other.target._schema.name:
            raise DiagnosticError(
                node_location(node),
                f"'{node.target}' writes to memory that it shares with the operand of '{other.target}': "
                "use its form without side effect",
            )


def overwritten_placeholders(graph: Graph, known: Container[Node] = ()) -> set[Node]:
    """The inputs and buffers that in-place operators write to under their own names; nodes that are `known` do not
    count."""
    renamed: dict[Node, Node] = {}
    for node in graph.nodes:
        if node not in known and isinstance(node.target, Operator) and node.target._schema.is_mutable:
            written = mutated_argument(node)
            if written is not None:
                renamed[node] = renamed.get(written, written)
    return {base for base in renamed.values() if base.op == "placeholder"}


def _updates_statistics(node: Node) -> bool:
    """Whether a batch norm writes to its running statistics, which its schema does not tell."""
    target = node.target
    if not isinstance(target, Operator) or target._schema.name not in ("aten::batch_norm", "aten::instance_norm"):
        return False
    given = dict(zip((a.name for a in target._schema.arguments), node.args, strict=False)) | node.kwargs
    training = given.get("training", given.get("use_input_stats"))
    return bool(training) and given.get("running_mean") is not None


def needs_functionalization(graph: Graph, known: Container[Node] = ()) -> bool:
    """Whether a node writes to memory that is visible under another name later, or has no functional form.

    Memory of an input or a buffer is visible after the call.

    Nodes whose values are `known` do not count.

    DiagnosticError where torch's functionalisation would give another result than eager.
    """
    nodes = [n for n in graph.nodes if n.op == "call_function" and n not in known]
    if any(map(_updates_statistics, nodes)):
        return True
    if not any(isinstance(n.target, Operator) and n.target._schema.is_mutable for n in nodes):
        return False
    order = {node: index for index, node in enumerate(graph.nodes)}
    last_use = {node: max((order[user] for user in node.users), default=-1) for node in graph.nodes}
    last_use |= {node: len(order) for node in graph.nodes if node.op == "placeholder"}
    sets = AliasSets()
    renamed: dict[Node, Node] = {}
    """In-place results by node, each to the node whose value it is: the two names always mean the same."""
    for node in nodes:
        if not isinstance(node.target, Operator):
            if node.all_input_nodes:
                sets.join(node.all_input_nodes[0], node)
            continue
        if not node.target._schema.is_mutable:
            if _may_alias(node):
                for operand in node.all_input_nodes:
                    sets.join(operand, node)
            continue
        written = mutated_argument(node)
        if written is None or functional_form(node.target) is None or _widens(node, written):
            return True
        base = renamed.get(written, written)
        for other in sets.members(written):
            if renamed.get(other, other) is not base and last_use[other] > order[node]:
                _refuse_untracked(node, sets.members(written))
                return True
        renamed[node] = base
        sets.join(written, node)
    return False
