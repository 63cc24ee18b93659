"""Loops of known length as straight code, step by step, and what torch's other operators of higher order run.

`map` and `scan` over a static dimension become their steps. `cond` and `while_loop` stay: the importer makes functions
of their bodies, which are `edge.cond` and `edge.while_loop`.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type and schema begin with an underscore.

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from xir.ir.diagnostics import DiagnosticError

from .source import node_location

MAX_OPS = 20_000
"""The most operators that a loop may become."""

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


_RULES: dict[str, Callable[..., Any]] = {"map_impl": _map, "scan": _scan}
"""By the name of torch's operator of higher order."""


def straight_code(node: Node, module: GraphModule) -> tuple[Callable[..., Any], list[Node]]:
    """A function that computes what an operator of higher order does, and the nodes that it takes.

    `module` has the graphs of its bodies. DiagnosticError where there is none.
    """
    name = name_of(node)
    if name not in _RULES:
        raise DiagnosticError(node_location(node), f"'{name}' has no form here: use torch's scan or while_loop")
    leaves, spec = pytree.tree_flatten(node.args)
    bodies = {leaf: body for leaf in leaves if isinstance(leaf, Node) and (body := body_of(leaf, module)) is not None}
    inputs = list(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, Node) and leaf not in bodies))
    _check_length(node, name, next(iter(bodies.values())))

    def call(*values: Any) -> Any:
        known = dict(zip(inputs, values, strict=True)) | {leaf: _running(body) for leaf, body in bodies.items()}
        filled = [known[leaf] if isinstance(leaf, Node) else leaf for leaf in leaves]
        return _RULES[name](*pytree.tree_unflatten(filled, spec))

    return call, inputs


def name_of(node: Node) -> str:
    """The name of an operator of higher order."""
    return str(getattr(node.target, "__name__", node.target))


def body_of(node: Node, module: GraphModule) -> GraphModule | None:
    """The graph that a node of `module` stands for, if it is one."""
    value = operator.attrgetter(str(node.target))(module) if node.op == "get_attr" else None
    return value if isinstance(value, GraphModule) else None


def _check_length(node: Node, name: str, body: GraphModule) -> None:
    """DiagnosticError for what would be too long, or has no known length."""
    values = node.args[1] if name == "map_impl" else node.args[2]
    assert isinstance(values, list | tuple)
    lengths = [each.meta["val"].shape[0] for each in values if isinstance(each, Node)]
    if not lengths or not all(isinstance(length, int) for length in lengths):
        raise DiagnosticError(
            node_location(node),
            f"a '{name}' of an open length has no form here: make it static, or use torch's while_loop",
        )
    if (count := lengths[0] * len(body.graph.nodes)) > MAX_OPS:
        raise DiagnosticError(
            node_location(node), f"a '{name}' of {lengths[0]} steps would be {count} operators; at most {MAX_OPS} are"
        )


def _running(body: GraphModule) -> Body:
    """A body as a function, loops inside it as straight code as well."""
    return lambda *args: pytree.tree_leaves(_Straight(body).run(*args))


class _Straight(Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What a node computes."""
        name = str(getattr(target, "__name__", target))
        if isinstance(target, torch._ops.HigherOrderOperator) and name in _RULES:
            bodies = pytree.tree_map_only(GraphModule, _running, args)
            return _RULES[name](*bodies)
        return super().call_function(target, args, kwargs)
