"""Show what was made of the subgraphs to the XNNPACK that is installed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, tensor_type
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import LateRefusalError, XirPass
from xir.ir.provenance import origins_of
from xir.transforms.analysis.sizes import Sizes, UnknownSizeError, upper_bounds
from xir.transforms.xnnpack._backend import XnnpackBackend
from xir.transforms.xnnpack._bounds import bound_nodes
from xir.transforms.xnnpack._xnnpack_checker import XnnpackChecker, has_static_shape, kind_of


@dataclass(frozen=True)
class CheckXnnpackPass(XirPass):
    """Define every subgraph in the installed XNNPACK, at its largest shapes: what the file holds will load.

    `partition-xnnpack` asks about each node by itself, before other passes fuse nodes and choose their layouts, and
    about none with a dynamic shape. This asks about the subgraphs that come out of that. A node that XNNPACK refuses is
    an error; behind `partition-xnnpack` in one pipeline, it is taken back: the ops that it was made of stay outside.
    Where XNNPACK is not installed, nothing is checked.
    """

    numerics: ClassVar[Numerics] = Numerics.SAME

    uses_origins: ClassVar[bool] = True
    may_refuse: ClassVar[bool] = True

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Check every function. LateRefusalError for the nodes that XNNPACK refuses.

        It stops at the first of a subgraph. The others are those that it refuses by themselves: who delegates once more
        then leaves them all outside, and need not come back for each.
        """
        checker = XnnpackChecker(ctx)
        refused: dict[Operation, str] = {}
        for function in op.walk():
            if not isinstance(function, FuncOp) or function.is_declaration:
                continue
            sizes = upper_bounds(function)
            for subgraph in function.body.block.ops:
                if isinstance(subgraph, xnnpack.SubgraphOp) and (static := at_bounds(subgraph, sizes)) is not None:
                    refusal = checker.refusal(static)
                    if refusal is not None:
                        refused |= refused_alone(static, checker)
                        refused[refusal.node or subgraph] = refusal.reason
        if refused:
            where, reason = next(iter(refused.items()))
            origins = {number: why for op, why in refused.items() for number in origins_of(op)}
            raise LateRefusalError(where, f"check-xnnpack: {reason}", origins, XnnpackBackend.name)


def refused_alone(subgraph: xnnpack.SubgraphOp, checker: XnnpackChecker) -> dict[Operation, str]:
    """The nodes of a subgraph that XNNPACK refuses by themselves, and why. Each kind of node is looked at once."""
    verdicts: dict[Hashable, str | None] = {}
    refused: dict[Operation, str] = {}
    for node in subgraph.body.block.ops:
        if isinstance(node, xnnpack.NodeOp):
            kind = kind_of(node)
            if kind not in verdicts:
                verdicts[kind] = checker.node_refusal(node)
            if (reason := verdicts[kind]) is not None:
                refused[node] = reason
    return refused


def at_bounds(subgraph: xnnpack.SubgraphOp, sizes: Sizes) -> xnnpack.SubgraphOp | None:
    """The subgraph at its largest shapes, a copy without operands if it has dynamic ones; None if they are unknown."""
    values = (*subgraph.body.block.args, *(result for op in subgraph.body.block.ops for result in op.results))
    if all(has_static_shape(value) for value in values):
        return subgraph
    body = Region()
    copies: dict[SSAValue, SSAValue] = {}
    subgraph.body.clone_into(body, value_mapper=copies)
    originals = {copy: value for value, copy in copies.items()}

    def bounded(value: SSAValue) -> TensorType:
        return tensor_type(element_type(value), sizes.known(originals[value]))

    try:
        bound_nodes(body.block, bounded)
    except UnknownSizeError:
        # Nobody says how large it gets, so there is no program to load either.
        return None
    return xnnpack.SubgraphOp.create(
        result_types=[value.type for value in cast(xnnpack.YieldOp, body.block.last_op).values],
        properties=dict(subgraph.properties),
        regions=[body],
    )
