"""What the real XNNPACK says of single nodes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from xir.dialects import edge, xnnpack
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import Locatable


@dataclass
class NodeChecker:
    """Defines nodes in XNNPACK, each in a graph of its own, whose inputs are the node's operands.

    Without the backend's library nothing is refused, and one remark says so.
    """

    ctx: XirContext
    where: Locatable
    """What that remark points at."""
    available: bool = True

    def refusal(self, op: xnnpack.NodeOp) -> str | None:
        """Why XNNPACK does not run the node; None where it does, or where a size is known only at run time."""
        if not self.available or not all(has_static_shape(value) for value in (*op.operands, *op.results)):
            return None
        try:
            from xir.runtime import XirRuntimeError
            from xir.runtime.check import check_subgraph
        except ImportError:
            self.give_up("xir's runtime is not built here")
            return None
        try:
            refusal = check_subgraph(graph_of(op), self.ctx)
        except XirRuntimeError as error:
            self.give_up(str(error))
            return None
        except DiagnosticError as error:
            return error.diagnostic.message
        return None if refusal is None else f"{op.name}: {refusal.reason}"

    def give_up(self, why: str) -> None:
        """Say once that nodes go unchecked."""
        self.available = False
        self.ctx.diagnostics.remark(self.where, f"nodes are not checked against XNNPACK: {why}")


def kind_of(op: xnnpack.NodeOp) -> Hashable:
    """What a node's legality depends on: all but the elements of its constants."""
    operands = [(value.type, is_constant(value)) for value in op.operands]
    return (type(op), *operands, *op.result_types, *op.properties.items())


def graph_of(op: xnnpack.NodeOp) -> xnnpack.SubgraphOp:
    """A subgraph of this node alone. It has no operands, so that the program's values gain no users."""
    body = Block()
    inside: dict[SSAValue, SSAValue] = {}
    for value in dict.fromkeys(op.operands):
        if isinstance(value.owner, edge.ConstantOp | xnnpack.ConstantOp):
            constant = xnnpack.ConstantOp.create(properties={"value": value.owner.value}, result_types=[value.type])
            body.add_op(constant)
            inside[value] = constant.output
        else:
            inside[value] = body.insert_arg(value.type, len(body.args))
    node = type(op).create(
        operands=[inside[value] for value in op.operands],
        result_types=list(op.result_types),
        properties=dict(op.properties),
    )
    body.add_ops([node, xnnpack.YieldOp.create(operands=list(node.results))])
    return xnnpack.SubgraphOp.create(
        result_types=list(op.result_types), properties={"target": StringAttr("xir")}, regions=[Region(body)]
    )


def has_static_shape(value: SSAValue) -> bool:
    """Whether all sizes are known."""
    return isinstance(value.type, TensorType) and value.type.has_static_shape()


def is_constant(value: SSAValue) -> bool:
    """Whether the elements are known."""
    return isinstance(value.owner, Operation) and isinstance(value.owner, edge.ConstantOp | xnnpack.ConstantOp)
