"""What a subgraph yields, kept to what `xnnpack.yield` takes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xir.dialects import xnnpack
from xir.ir.location import location_of


def distinct_outputs(values: Sequence[SSAValue]) -> tuple[list[SSAValue], list[Operation]]:
    """(what to yield for `values`, copy nodes to insert before).

    An output is the result of a node and is yielded once; a block argument, a constant and a repeated value are copied.
    """
    distinct: dict[SSAValue, None] = {}
    copies: list[Operation] = []
    for value in values:
        if value in distinct or not isinstance(value.owner, xnnpack.NodeOp):
            copy = xnnpack.CopyOp.create(operands=[value], result_types=[value.type])
            copy.location = location_of(value)
            copies.append(copy)
            value = copy.output
        distinct[value] = None
    return list(distinct), copies
