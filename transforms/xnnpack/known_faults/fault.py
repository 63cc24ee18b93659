"""What an entry of the list of XNNPACK's known faults says, and what the entries share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of, tensor_type, u32s
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.transforms.analysis.refusal import Refusal, RefusalError

COMPUTED_WRONG = Refusal("XNNPACK computes it wrong: {wrong}")

VERSION = "92a7ad501b"
"""The commit of google/XNNPACK that the places of all entries are of."""


@dataclass(frozen=True)
class Site:
    """A node that XNNPACK would compute wrong."""

    node: Operation
    mend: Callable[[], None] | None
    """Rewrites the graph so that the fault's condition holds no longer; None where no graph is known that computes the
    same, and the node has to stay outside."""


@dataclass(frozen=True)
class KnownFault:
    """What XNNPACK computes wrong, under which condition, and how a graph is kept from it."""

    name: str
    place: str
    """The file and the function of XNNPACK at `VERSION`."""
    wrong: str
    """What goes wrong; completes "XNNPACK computes it wrong: …"."""
    smallest: str
    """The smallest graph, a function `forward`, that the installed XNNPACK computes wrong. Its tensors of integers are
    of quantised numbers, or are i32."""
    sites: Callable[[xnnpack.SubgraphOp, XirContext], Iterable[Site]] | None
    """The nodes that the fault's condition holds for; None where a pass of its own keeps graphs from it."""
    kept_by: str = "avoid-xnnpack-faults"
    """The pass that keeps graphs from it."""

    def refusal(self) -> RefusalError:
        """Why a node stays outside of a delegate."""
        return COMPUTED_WRONG(wrong=self.wrong)


def source_of(value: SSAValue) -> SSAValue:
    """What a value is a copy of: XNNPACK's own optimiser and both runtimes see through copies within a graph."""
    while isinstance(value.owner, xnnpack.CopyOp):
        value = value.owner.input
    return value


def readers_of(value: SSAValue) -> set[Operation]:
    """The nodes that read a value, and the yield that does; through copies, which count for nothing themselves."""
    found: set[Operation] = set()
    for use in value.uses:
        if isinstance(use.operation, xnnpack.CopyOp):
            found |= readers_of(use.operation.output)
        else:
            found.add(use.operation)
    return found


def sliced_whole(value: SSAValue) -> xnnpack.NodeOp:
    """A node that copies a value of any shape, and that no rewrite of XNNPACK removes, moves or looks through."""
    shape = shape_of(value)
    if not shape:
        return reshaped(value, ())
    sizes = u32s([0 if size == DYNAMIC_INDEX else size for size in shape])
    return xnnpack.StaticSliceOp.create(
        operands=[value], properties={"offsets": u32s([0] * len(shape)), "sizes": sizes}, result_types=[value.type]
    )


def reshaped(value: SSAValue, shape: Iterable[int]) -> xnnpack.StaticReshapeOp:
    """A node that gives the elements of a value the shape `shape`, of which one size at most is dynamic."""
    sizes = list(shape)
    new_shape = u32s([0 if size == DYNAMIC_INDEX else size for size in sizes])
    return xnnpack.StaticReshapeOp.create(
        operands=[value],
        properties={"new_shape": new_shape},
        result_types=[tensor_type(element_type(value), sizes)],
    )


def can_reshape(shape: Iterable[int]) -> bool:
    """Whether a reshape can give a shape: it infers one size."""
    return list(shape).count(DYNAMIC_INDEX) <= 1


def apart(node: Operation, value: SSAValue, copy: xnnpack.NodeOp) -> None:
    """Have `node` read the result of `copy`, which reads `value`, wherever it reads `value`."""
    Rewriter.insert_op(copy, InsertPoint.before(node))
    made_for = value.owner if isinstance(node, xnnpack.YieldOp) else node
    assert isinstance(made_for, Operation)
    inherit(copy, made_for)
    for index, operand in enumerate(node.operands):
        if operand is value:
            node.operands[index] = copy.results[0]
