"""Moving what the rules built for a delegate into a subgraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from xir.backend.interface import Taken
from xir.dialects import edge, xnnpack
from xir.ir.location import location_of, location_of_all
from xir.transforms.xnnpack.building.casts import resolve_casts
from xir.transforms.xnnpack.building.outputs import keep_distinct


def outline(
    ops: Sequence[Operation], outputs: Sequence[SSAValue], taken: Mapping[Operation, Taken], target: str
) -> xnnpack.SubgraphOp:
    """A subgraph for `target` of what was built for `ops`, whose results are those that stand for `outputs`."""
    body = Block()
    arguments: dict[SSAValue, SSAValue] = {}
    replacement: dict[SSAValue, SSAValue] = {}

    def inside(value: SSAValue) -> SSAValue:
        """The value in the subgraph that stands for `value` of the function."""
        if value in replacement:
            return replacement[value]
        if value not in arguments:
            if isinstance(value.owner, edge.ConstantOp):
                constant = xnnpack.ConstantOp(value.owner.value)
                constant.location = value.owner.location
                body.add_op(constant)
                arguments[value] = constant.output
            else:
                argument = body.insert_arg(value.type, len(body.args))
                argument.name_hint = value.name_hint
                argument.location = location_of(value)
                arguments[value] = argument
        return arguments[value]

    for op in ops:
        built = {result for new in taken[op].built for result in new.results}
        for new in taken[op].built:
            new.operands = [value if value in built else inside(value) for value in new.operands]
            body.add_op(new)
        for old, new_value in zip(op.results, taken[op].values or (), strict=False):
            replacement[old] = new_value if new_value in built else inside(new_value)

    result = xnnpack.YieldOp.create(operands=[replacement[value] for value in outputs])
    body.add_op(result)
    resolve_casts(body)
    keep_distinct(result)
    inputs = [value for value, argument in arguments.items() if argument.owner is body]
    subgraph = xnnpack.SubgraphOp.create(
        operands=inputs,
        result_types=[value.type for value in outputs],
        properties={"target": StringAttr(target)},
        regions=[Region(body)],
    )
    subgraph.location = result.location = location_of_all(ops)
    return subgraph
