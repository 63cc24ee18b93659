"""XNNPACK as a backend of the compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from xir.backend.interface import Backend, Blob, ReadBlob, Request, Taken, Trial
from xir.dialects.delegate import GraphOp
from xir.dialects.xnnpack import SubgraphOp
from xir.ir.context import XirContext
from xir.ir.targets import TARGETS, Target
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.xnnpack.building.open_slices import bound_slices
from xir.transforms.xnnpack.building.outline import outline
from xir.transforms.xnnpack.building.trial import XnnpackTrial
from xir.transforms.xnnpack.known_faults import faulty_nodes
from xir.transforms.xnnpack.legality.graph_check import refused_nodes

if TYPE_CHECKING:
    from xir.emitter.debug_info import DebugInfoWriter


class XnnpackBackend(Backend):
    """Graphs are `xnnpack.subgraph`; stock ExecuTorch refuses by its id what it cannot run."""

    name = "xnnpack"
    ids: Mapping[Target, str] = {
        name: "XirXnnpackBackend" if each.xir_nodes else "XnnpackBackend" for name, each in TARGETS.items()
    }

    def trial(self, ctx: XirContext, request: Request) -> Trial:
        return XnnpackTrial(ctx, request)

    def legalize(
        self,
        ctx: XirContext,
        ops: Sequence[Operation],
        outputs: Sequence[SSAValue],
        taken: Mapping[Operation, Taken],
        request: Request,
    ) -> GraphOp:
        return outline(ops, outputs, taken, request.target)

    def check(self, ctx: XirContext, graphs: Sequence[GraphOp], request: Request) -> Mapping[Operation, RefusalError]:
        subgraphs = cast("Sequence[SubgraphOp]", graphs)
        faulty = {site.node: fault.refusal() for graph in subgraphs for fault, site in faulty_nodes(graph, ctx)}
        refused = refused_nodes(ctx, graphs) if request.check else {}
        return faulty | {node: why for node, why in refused.items() if node not in faulty}

    def bound(self, graph: GraphOp, largest: Mapping[SSAValue, TensorType]) -> None:
        bound_slices(graph.block, largest)
        super().bound(graph, largest)

    def write(
        self, graph: GraphOp, ctx: XirContext, value_ids: Sequence[int] | None, debug_info: DebugInfoWriter | None
    ) -> Blob:
        from xir.emitter.xnnpack.writer import write_blob

        return write_blob(cast("SubgraphOp", graph), ctx, value_ids, debug_info)

    def read(self, data: memoryview, id: str, named_data: Mapping[str, memoryview], ctx: XirContext) -> ReadBlob:
        from xir.emitter.xnnpack.reader import read_blob

        target = next(target for target, known in self.ids.items() if known == id)
        return read_blob(data, target, named_data, ctx)
