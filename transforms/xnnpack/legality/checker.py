"""What the real XNNPACK says of nodes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Block, Region, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.attribute_numbers import AttributeNumbers
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError

if TYPE_CHECKING:
    from xir.transforms.xnnpack.legality.library_check import LibraryRefusal


@dataclass
class XnnpackChecker:
    """Defines nodes and subgraphs in XNNPACK. Where that is not installed, nothing is refused."""

    ctx: XirContext
    missing: str | None = None
    """Why there is no XNNPACK to ask, once that is known."""

    def refusal(self, subgraph: xnnpack.SubgraphOp) -> LibraryRefusal | None:
        """What XNNPACK refuses in a subgraph of static shapes, and why."""
        if self.missing is not None:
            return None
        try:
            from xir.runtime import XirRuntimeError
            from xir.transforms.xnnpack.legality.library_check import LibraryRefusal, check_subgraph
        except ImportError:
            self.missing = "xir's runtime is not built here"
            return None
        try:
            return check_subgraph(subgraph, self.ctx)
        except XirRuntimeError as error:
            self.missing = str(error)
            return None
        except DiagnosticError as error:
            return LibraryRefusal(None, error.diagnostic.message)

    def node_refusal(self, op: xnnpack.NodeOp) -> str | None:
        """Why XNNPACK does not run a node whose operands are a subgraph's inputs; None also where it cannot be asked.

        A value of dynamic shape has no size to ask about, and one that is quantised at run time is never an input.
        """
        if self.missing is not None or not all(can_be_input(value) for value in (*op.operands, *op.results)):
            return None
        refusal = self.refusal(graph_of(op))
        return None if refusal is None else f"{op.name}: {refusal.reason}"


def kind_of(op: xnnpack.NodeOp, numbers: AttributeNumbers) -> Hashable:
    """What a node's legality depends on: all but the elements of its constants."""
    values = [(numbers[value.type], is_constant(value)) for value in (*op.operands, *op.results)]
    return (type(op), *values, *((name, numbers[value]) for name, value in op.properties.items()))


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


def can_be_input(value: SSAValue) -> bool:
    """Whether a subgraph can take the value from outside."""
    return has_static_shape(value) and not isinstance(element_type(value), xnnpack.DynamicType)


def is_constant(value: SSAValue) -> bool:
    """Whether the elements are known."""
    kind = type(value.owner)
    return kind is edge.ConstantOp or kind is xnnpack.ConstantOp
