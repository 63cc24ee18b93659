"""Handing ops to their backend, which builds a graph of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import ConstantLike

from xir.backend.interface import Backend, Request, Taken, Trial
from xir.backend.registry import backend_named
from xir.dialects import edge
from xir.dialects.delegate import GraphOp, RegionOp
from xir.ir.context import XirContext
from xir.ir.remarks import RemarkKind, passed, remark, wanted
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.transforms.analysis.cost import bytes_moved
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.delegate.forming.graph_checks import late_refusal
from xir.transforms.delegate.forming.groups import ops_along
from xir.transforms.delegate.forming.marks import Marks, function_blocks, name_of, reopen_graphs, try_ops


def replace_by_graph(
    ctx: XirContext, backend: Backend, ops: Sequence[Operation], taken: Mapping[Operation, Taken], request: Request
) -> GraphOp:
    """Replace ops that a backend has taken by the graph that it builds of them, inserted after the last one."""
    members = set(ops)
    for op in ops:
        members.update(taken[op].built)
    outputs = [
        result for op in ops for result in op.results if any(use.operation not in members for use in result.uses)
    ]
    graph = backend.legalize(ctx, ops, outputs, taken, request)
    block = ops[-1].parent
    assert block is not None
    block.insert_op_after(graph, ops[-1])
    say_delegated(graph, len(ops))
    for old, new in zip(outputs, graph.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_uses_with_if(new, lambda use: use.operation not in members)
    for op in reversed(ops):
        op.detach()
        op.erase()
    return graph


def legalize_regions(ctx: XirContext, module: ModuleOp, name: str, request: Request) -> None:
    """Replace the regions of a backend by its graphs. ValueError if there is no backend of that name.

    LateRefusalError for ops that the backend does not take after all.
    """
    backend = backend_named(name)
    trial = backend.trial(ctx, request)
    refused: dict[Operation, RefusalError] = {}
    for block in function_blocks(module):
        regions = [op for op in block.ops if isinstance(op, RegionOp) and op.backend.data == name]
        if regions:
            trial.begin(block)
        # In reverse order: replacing a group by its graph may leave outputs of earlier groups without users.
        for region in reversed(regions):
            if may_try(region, "legalise"):
                legalize_region(ctx, backend, trial, region, request, refused)
    pass_name = f"legalize-to-{name}"
    if refused:
        op = next(iter(refused))
        raise late_refusal(refused, name, f"{pass_name}: {name_of(op)} cannot be computed")
    say_notes(ctx, module, pass_name, trial)


def say_notes(ctx: XirContext, module: ModuleOp, pass_name: str, trial: Trial) -> None:
    """Remark what a trial has to say of the whole program, which nobody has to ask for."""
    for note in trial.notes():
        ctx.diagnostics.emit(remark(RemarkKind.ANALYSIS, module, pass_name, "trial", note))


def say_delegated(graph: GraphOp, ops: int) -> None:
    """Remark that ops became a backend's graph, and what goes in and out of it."""
    if wanted(RemarkKind.PASSED):
        nodes = sum(not op.has_trait(ConstantLike) for op in graph.block.ops) - 1
        figures = {"Ops": ops, "Nodes": nodes}
        if (moved := bytes_moved(graph)) is not None:
            figures["BytesInAndOut"] = moved
        passed(graph, "delegated", f"delegated to {graph.BACKEND}", figures=figures)


def legalize_region(
    ctx: XirContext,
    backend: Backend,
    trial: Trial,
    region: RegionOp,
    request: Request,
    refused: dict[Operation, RefusalError],
) -> None:
    """Replace a region by the backend's graph; if there are ops that it does not take, only add these to `refused`."""
    inner, outer = region.body.block, region.parent
    assert outer is not None
    results = [result for result in region.outputs if result.first_use is not None]
    end = region.yield_op
    end.operands = [value for value, result in zip(end.values, region.outputs, strict=True) if result in results]
    erase_dead_ops(inner, edge.EdgeOp)
    marks, before = Marks(), len(refused)
    reopen_graphs(inner, backend.name, trial, marks)
    try_ops(inner, backend.name, trial.take, trial.looks_through, marks, refused.__setitem__)
    if len(refused) > before:
        return
    for op in ops_along(marks):
        op.operands = ()
    graph = replace_by_graph(ctx, backend, list(marks.taken), marks.taken, request) if marks.taken else None
    for result, value in zip(results, end.operands, strict=True):
        result.replace_all_uses_with(value)
    end.operands = ()
    if graph is not None:
        graph.detach()
        outer.insert_op_before(graph, region)
    # What is left are ops that those of the graph looked through.
    erase_in_block(inner)
    region.detach()
    region.erase()


def erase_in_block(block: Block) -> None:
    """Erase a block's ops, the last first."""
    for op in reversed(list(block.ops)):
        op.detach()
        op.erase()
