"""Asking backends whether they take their finished graphs, and late refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, Region, SSAValue

from xir.backend.interface import Backend, Request
from xir.backend.registry import backend_named
from xir.dialects.delegate import GraphOp
from xir.ir.context import XirContext
from xir.ir.provenance import origins_of
from xir.ir.tensor_types import dynamic_among, element_type, has_dynamic_size, tensor_type
from xir.ir.walking import functions_in, only_block
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.analysis.sizes import SymbolicSizes, UnknownSizeError
from xir.transforms.delegate.forming.late_refusals import LateRefusalError

GraphT = TypeVar("GraphT", bound=GraphOp)


def check_graphs(ctx: XirContext, module: ModuleOp, name: str, request: Request, pass_name: str) -> None:
    """Show a backend all its graphs, at their largest shapes. ValueError if there is no backend of that name.

    LateRefusalError, in the name of the pass, for what it refuses.
    """
    backend = backend_named(name)
    graphs: list[GraphOp] = []
    for function in functions_in(module):
        sizes = ctx.analyses.get(SymbolicSizes, function)
        mine = [op for op in only_block(function).ops if isinstance(op, GraphOp) and name == op.BACKEND]
        graphs += [graph for op in mine if (graph := at_bounds(op, backend, sizes)) is not None]
    if refused := backend.check(ctx, graphs, request):
        raise late_refusal(refused, name, pass_name)


def late_refusal(refused: Mapping[Operation, RefusalError], backend: str, what: str) -> LateRefusalError:
    """The error for ops, of the program or of a graph, that a backend refuses after all: `what` it is, and why."""
    where, first = next(iter(refused.items()))
    origins = {number: why.reason for op, why in refused.items() for number in origins_of(op)}
    return LateRefusalError(where, f"{what}: {first.reason}", origins, backend)


def at_bounds(graph: GraphT, backend: Backend, sizes: SymbolicSizes) -> GraphT | None:
    """The graph at its largest shapes: a copy without operands if it has dynamic ones; None if they are unknown."""
    dynamic = dynamic_among(graph.values)
    if not dynamic:
        return graph

    def bounded(value: SSAValue) -> TensorType:
        return tensor_type(element_type(value), sizes.bounds(value))

    body = Region()
    copies: dict[SSAValue, SSAValue] = {}
    graph.regions[0].clone_into(body, value_mapper=copies)
    try:
        largest = {copies[value]: bounded(value) for value in dynamic}
        types = [bounded(result) if has_dynamic_size(result) else result.type for result in graph.results]
    except UnknownSizeError:
        # Nobody says how large it gets, so there is no program to load either.
        return None
    copy = type(graph).create(
        result_types=types, properties=dict(graph.properties), attributes=dict(graph.attributes), regions=[body]
    )
    copy.location = graph.location
    backend.bound(copy, largest)
    return copy
