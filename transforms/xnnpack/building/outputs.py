"""What a subgraph yields, kept to what `xnnpack.yield` takes."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xir.dialects import xnnpack
from xir.ir.location import location_of


def keep_distinct(outputs: xnnpack.YieldOp) -> None:
    """Copy what no output can be: a block argument, a constant, and a value that is one already."""
    distinct: dict[SSAValue, None] = {}
    for value in outputs.operands:
        if value in distinct or not isinstance(value.owner, xnnpack.NodeOp):
            copy = xnnpack.CopyOp.create(operands=[value], result_types=[value.type])
            copy.location = location_of(value)
            block = outputs.parent
            assert block is not None
            block.insert_op_before(copy, outputs)
            value = copy.output
        distinct[value] = None
    outputs.operands = list(distinct)
