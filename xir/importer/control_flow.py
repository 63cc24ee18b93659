"""torch's `map` and `scan`: as straight code where there are few steps, else by its `while_loop`.

`cond` and `while_loop` stay what they are: the importer makes functions of their bodies, which are `edge.cond` and
`edge.while_loop`.
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

MOST_OPS = 20_000
"""The most operators that a loop may become as straight code."""

Body = Callable[..., Sequence[Any]]


def _map(body: Body, values: Sequence[torch.Tensor], constants: Sequence[Any]) -> list[torch.Tensor]:
    """torch's `map`: the body of each element of the first dimension."""
    return _scan(body, [], values, constants)


def _scan(body: Body, first: Sequence[Any], values: Sequence[torch.Tensor], constants: Sequence[Any]) -> list[Any]:
    """torch's `scan`: the body gives what the next step begins with, and one element of each result."""
    carried, rows = list(first), list[Sequence[torch.Tensor]]()
    for i in range(values[0].shape[0]):
        results = body(*carried, *(each[i] for each in values), *constants)
        carried = list(results[: len(first)])
        rows.append(results[len(first) :])
    return [*carried, *(torch.stack(list(each)) for each in zip(*rows, strict=True))]


def _map_by_loop(body: Body, values: Sequence[torch.Tensor], constants: Sequence[Any]) -> list[torch.Tensor]:
    """As `_map`, of any length."""
    return _scan_by_loop(body, [], values, constants)


def _scan_by_loop(
    body: Body, first: Sequence[Any], values: Sequence[torch.Tensor], constants: Sequence[Any]
) -> list[Any]:
    """As `_scan`, of any length: a loop that reads a row of each value in a step, and writes one of each result."""
    length = values[0].shape[0]
    # Of one step the sizes are taken; nothing reads what it computes, so that it is dropped from the graph.
    example = body(*first, *(each.select(0, 0) for each in values), *constants)[len(first) :]
    results = [each.new_zeros((length, *each.shape)) for each in example]
    end_of_carried = 1 + len(first)
    end_of_results = end_of_carried + len(results)
    end_of_values = end_of_results + len(values)

    def goes_on(i: torch.Tensor, *others: Any) -> torch.Tensor:
        return i < others[-1]

    def step(*given: Any) -> tuple[torch.Tensor, ...]:
        i, carried, written = given[0], given[1:end_of_carried], given[end_of_carried:end_of_results]
        rows = [each.index_select(0, i.reshape(1)).squeeze(0) for each in given[end_of_results:end_of_values]]
        found = body(*carried, *rows, *given[end_of_values:-1])
        filled = [
            torch.index_put(each, (i.reshape(1),), row.unsqueeze(0))
            for each, row in zip(written, found[len(first) :], strict=True)
        ]
        return (i + 1, *found[: len(first)], *filled)

    start = torch.zeros((), dtype=torch.int64)
    loop = torch.ops.higher_order.while_loop
    return list(loop(goes_on, step, (start, *first, *results), (*values, *constants, length))[1:])


_RULES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "map_impl": (_map, _map_by_loop),
    "scan": (_scan, _scan_by_loop),
}
"""By the name of torch's operator of higher order: as straight code, and as a loop."""


def meaning_of(node: Node, module: GraphModule) -> tuple[Callable[..., Any], list[Node]]:
    """A function that computes what a `map` or `scan` does, and the nodes that it takes.

    `module` has the graphs of its bodies. DiagnosticError for any other operator.
    """
    name = name_of(node)
    if name not in _RULES:
        raise DiagnosticError(node_location(node), f"'{name}' has no form here: use torch's scan or while_loop")
    leaves, spec = pytree.tree_flatten(node.args)
    bodies = {leaf: body for leaf in leaves if isinstance(leaf, Node) and (body := body_of(leaf, module)) is not None}
    inputs = list(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, Node) and leaf not in bodies))

    def call(*values: Any) -> Any:
        known = dict(zip(inputs, values, strict=True)) | bodies
        filled = [known[leaf] if isinstance(leaf, Node) else leaf for leaf in leaves]
        return _computed(name, pytree.tree_unflatten(filled, spec))

    return call, inputs


def _computed(name: str, args: Sequence[Any]) -> Any:
    """What a `map` or `scan` gives, whose first argument is the graph of its body."""
    body, *others = args
    values = others[-2]  # before the constants
    length = values[0].shape[0]
    is_short = isinstance(length, int) and length * len(body.graph.nodes) <= MOST_OPS
    straight, loop = _RULES[name]
    rule = straight if is_short else loop
    return rule(lambda *given: pytree.tree_leaves(_Running(body).run(*given)), *others)


class _Running(Interpreter):
    """Runs a body, with those inside of it."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What a node computes."""
        name = str(getattr(target, "__name__", target))
        if isinstance(target, torch._ops.HigherOrderOperator) and name in _RULES:
            return _computed(name, args)
        return super().call_function(target, args, kwargs)


def name_of(node: Node) -> str:
    """The name of an operator of higher order."""
    return str(getattr(node.target, "__name__", node.target))


def body_of(node: Node, module: GraphModule) -> GraphModule | None:
    """The graph that a node of `module` stands for, if it is one."""
    value = operator.attrgetter(str(node.target))(module) if node.op == "get_attr" else None
    return value if isinstance(value, GraphModule) else None
