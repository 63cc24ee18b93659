"""Masks as a backend: which ops it takes, the graph that it makes of them, and the graph's bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation, Region, SSAValue

from xir.plugin import (
    Backend,
    Blob,
    DebugInfoWriter,
    EdgeOp,
    GraphOp,
    ReadBlob,
    RefusalError,
    Request,
    Taken,
    Target,
    Trial,
    XirContext,
    shape_of,
)
from xir_masks import blob
from xir_masks.builder import MasksBuilder
from xir_masks.dialect import MasksGraphOp, YieldOp
from xir_masks.refusals import NO_RULE, TOO_LARGE
from xir_masks.rules import MOVES, RULES

LARGEST = 2**40
"""The most elements of a tensor that the library takes (`native/masks/program.cc`)."""


def build(op: EdgeOp, b: MasksBuilder) -> None:
    """Add what an op becomes. RefusalError where that is nothing."""
    rule = RULES.get(op.name)
    if rule is None:
        raise NO_RULE()
    b.begin(op)
    b.finish(op, rule(op, b))


class MasksTrial(Trial):
    """Takes what a rule builds, in a graph of its own."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx

    def take(self, op: EdgeOp) -> Taken:
        build(op, MasksBuilder(self.ctx))
        return Taken(only_moves=op.name in MOVES)


class MasksBackend(Backend):
    """Only xir's runtime runs it, with this package's library."""

    name = "masks"
    ids: Mapping[Target, str] = {"xir": "XirMasksBackend"}

    def trial(self, ctx: XirContext, request: Request) -> Trial:
        return MasksTrial(ctx)

    def legalize(
        self,
        ctx: XirContext,
        ops: Sequence[Operation],
        outputs: Sequence[SSAValue],
        taken: Mapping[Operation, Taken],
        request: Request,
    ) -> GraphOp:
        builder = MasksBuilder(ctx)
        for op in ops:
            assert isinstance(op, EdgeOp)
            build(op, builder)
        values = [builder.made(value) for value in outputs]
        builder.block.add_op(YieldOp(values))
        return MasksGraphOp(list(builder.inputs), [value.type for value in values], Region(builder.block))

    def check(self, ctx: XirContext, graphs: Sequence[GraphOp], request: Request) -> Mapping[Operation, RefusalError]:
        results = ((op, result) for graph in graphs for op in graph.block.ops for result in op.results)
        sizes = ((op, prod(shape_of(result))) for op, result in results)
        return {op: TOO_LARGE(elements=elements) for op, elements in sizes if elements > LARGEST}

    def write(
        self, graph: GraphOp, ctx: XirContext, value_ids: Sequence[int] | None, debug_info: DebugInfoWriter | None
    ) -> Blob:
        assert isinstance(graph, MasksGraphOp)
        return blob.write(graph, ctx, debug_info)

    def read(self, data: memoryview, id: str, named_data: Mapping[str, memoryview], ctx: XirContext) -> ReadBlob:
        return blob.read(data, ctx)
