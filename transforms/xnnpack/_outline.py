"""Moving a group of lowered ops into a subgraph."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from xir.dialects import edge, xnnpack
from xir.ir.location import location_of
from xir.transforms.delegate._groups import Lowered
from xir.transforms.xnnpack._casts import resolve_casts
from xir.transforms.xnnpack._outputs import distinct_outputs


def outline(group: Sequence[Operation], lowered: dict[Operation, Lowered], target: str) -> None:
    """Move a group, adjacent in its block, into a new subgraph for `target`."""
    members = set(group)
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

    for op in group:
        built = {result for new in lowered[op].ops for result in new.results}
        for new in lowered[op].ops:
            new.operands = [value if value in built else inside(value) for value in new.operands]
            body.add_op(new)
        for old, new_value in zip(op.results, lowered[op].values, strict=False):
            replacement[old] = new_value if new_value in built else inside(new_value)

    outputs = [old for op in group for old in op.results if any(use.operation not in members for use in old.uses)]
    result = xnnpack.YieldOp.create(operands=[replacement[value] for value in outputs])
    body.add_op(result)
    resolve_casts(body)
    result.operands, copies = distinct_outputs(result.operands)
    body.insert_ops_before(copies, result)
    inputs = [value for value, argument in arguments.items() if argument.owner is body]
    subgraph = xnnpack.SubgraphOp.create(
        operands=inputs,
        result_types=[value.type for value in outputs],
        properties={"target": StringAttr(target)},
        regions=[Region(body)],
    )
    subgraph.location = result.location = group[0].location
    block = group[0].parent
    assert block is not None
    block.insert_op_after(subgraph, group[-1])
    for old, new_value in zip(outputs, subgraph.results, strict=True):
        new_value.name_hint = old.name_hint
        old.replace_uses_with_if(new_value, lambda use: use.operation not in members)
    for op in reversed(group):
        op.detach()
        op.erase()
