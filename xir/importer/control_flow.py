"""Control flow as straight code: loops of known length step by step, and both sides of a choice."""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type and schema begin with an underscore.

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from xir.ir.diagnostics import DiagnosticError

from .aliasing import Operator
from .source import node_location

MAX_OPS = 20_000
"""The most operators that a loop may become."""

_CHECKS_INDICES = frozenset(
    f"aten::{name}"
    for name in ("embedding", "index", "index_put", "index_select", "gather", "scatter", "scatter_add", "index_add")
)
"""Operators that fail for indices out of range, which a branch that is not taken may have."""

Body = Callable[..., Sequence[Any]]


def _map(body: Body, values: Sequence[torch.Tensor], constants: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """torch's `map`: the body of each element of the first dimension."""
    steps = [body(*(each[i] for each in values), *constants) for i in range(values[0].shape[0])]
    return tuple(torch.stack(list(each)) for each in zip(*steps, strict=True))


def _scan(body: Body, first: Sequence[Any], values: Sequence[torch.Tensor], constants: Sequence[Any]) -> list[Any]:
    """torch's `scan`: the body gives what the next step begins with, and one element of each result."""
    carried, rows = list(first), list[Sequence[torch.Tensor]]()
    for i in range(values[0].shape[0]):
        results = body(*carried, *(each[i] for each in values), *constants)
        carried = list(results[: len(first)])
        rows.append(results[len(first) :])
    return [*carried, *(torch.stack(list(each)) for each in zip(*rows, strict=True))]


def _cond(chooses: torch.Tensor, yes: Body, no: Body, operands: Sequence[Any]) -> list[torch.Tensor]:
    """torch's `cond`: both branches, of which one is chosen."""
    return [torch.where(chooses, a, b) for a, b in zip(yes(*operands), no(*operands), strict=True)]


_RULES: dict[str, Callable[..., Any]] = {"map_impl": _map, "scan": _scan, "cond": _cond}
"""By the name of torch's operator of higher order."""


def straight_code(node: Node, module: GraphModule) -> tuple[Callable[..., Any], list[Node]]:
    """A function that computes what an operator of higher order does, and the nodes that it takes.

    `module` has the graphs of its bodies. DiagnosticError where there is none.
    """
    name = _name(node)
    if name not in _RULES:
        raise DiagnosticError(
            node_location(node),
            f"'{name}' has no form here: how often it runs depends on data. Call the program once for each step, or "
            "use torch's scan over a dimension",
        )
    leaves, spec = pytree.tree_flatten(node.args)
    bodies = {leaf: body for leaf in leaves if isinstance(leaf, Node) and (body := _body(leaf, module)) is not None}
    inputs = list(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, Node) and leaf not in bodies))
    _check(node, name, list(bodies.values()))

    def call(*values: Any) -> Any:
        known = dict(zip(inputs, values, strict=True)) | {leaf: _running(body) for leaf, body in bodies.items()}
        filled = [known[leaf] if isinstance(leaf, Node) else leaf for leaf in leaves]
        return _RULES[name](*pytree.tree_unflatten(filled, spec))

    return call, inputs


def _name(node: Node) -> str:
    return str(getattr(node.target, "__name__", node.target))


def _body(node: Node, module: GraphModule) -> GraphModule | None:
    value = operator.attrgetter(str(node.target))(module) if node.op == "get_attr" else None
    return value if isinstance(value, GraphModule) else None


def _check(node: Node, name: str, bodies: list[GraphModule]) -> None:
    """DiagnosticError for what would be too long, or might fail where it should not."""
    first = node.args[0]
    if name == "cond":
        if not isinstance(first, Node) or not isinstance(first.meta.get("val"), torch.Tensor):
            raise DiagnosticError(node_location(node), "a 'cond' of a size has no form here: make it one of a tensor")
        for body in bodies:
            for each in body.graph.nodes:
                if isinstance(each.target, Operator) and each.target._schema.name in _CHECKS_INDICES:
                    raise DiagnosticError(
                        node_location(each),
                        f"{each.target} in a branch of 'cond' has no form here: both branches are computed, and "
                        "indices of the one that is not taken may be out of range. Look them up before",
                    )
        return
    values = node.args[1] if name == "map_impl" else node.args[2]
    assert isinstance(values, list | tuple)
    lengths = [each.meta["val"].shape[0] for each in values if isinstance(each, Node)]
    if not lengths or not all(isinstance(length, int) for length in lengths):
        raise DiagnosticError(node_location(node), f"a '{name}' of an open length has no form here: make it static")
    if (count := lengths[0] * len(bodies[0].graph.nodes)) > MAX_OPS:
        raise DiagnosticError(
            node_location(node), f"a '{name}' of {lengths[0]} steps would be {count} operators; at most {MAX_OPS} are"
        )


def _running(body: GraphModule) -> Body:
    """A body as a function, control flow inside it as straight code as well."""
    return lambda *args: pytree.tree_leaves(_Straight(body).run(*args))


class _Straight(Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What a node computes."""
        name = str(getattr(target, "__name__", target))
        if isinstance(target, torch._ops.HigherOrderOperator) and name in _RULES:
            bodies = pytree.tree_map_only(GraphModule, _running, args)
            return _RULES[name](*bodies)
        return super().call_function(target, args, kwargs)
