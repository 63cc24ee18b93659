"""Moving the ops of delegates into regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, Region

from xir.dialects.delegate import RegionOp, YieldOp
from xir.ir.location import location_of_all
from xir.ir.remarks import passed
from xir.transforms.delegate.forming.groups import Group


def move_into_regions(block: Block, groups: Sequence[Group], along: Mapping[Operation, str]) -> None:
    """Make a `delegate.region` of each group, where its last op is, with copies of the ops that go along with its ops.

    Those ops are gone afterwards.
    """
    going = {op for group in groups for op in group.ops} | along.keys()
    places = [first_after(group.ops[-1], going) for group in groups]
    bodies = [body_of(group, along) for group in groups]
    for op in along:
        op.operands = ()
    for op in reversed(list(along)):
        op.detach()
        op.erase()
    for group, body, place in zip(groups, bodies, places, strict=True):
        region = region_of(group, body)
        block.insert_op_before(region, place)
        passed(region, "delegated", f"delegated to {group.backend}", figures={"Ops": len(group.ops)})


def first_after(op: Operation, going: set[Operation]) -> Operation:
    """The first op after another one that will not be removed."""
    following = op.next_op
    while following is not None and following in going:
        following = following.next_op
    assert following is not None, "a function's block ends with a terminator"
    return following


def body_of(group: Group, along: Mapping[Operation, str]) -> Block:
    """A block with a group's ops, each preceded by copies of the ops that go along with it."""
    body = Block()
    copies: dict[Operation, Operation] = {}

    def add(op: Operation) -> None:
        for index, value in enumerate(op.operands):
            owner = value.owner
            if isinstance(owner, Operation) and owner in along:
                if owner not in copies:
                    copies[owner] = owner.clone()
                    add(copies[owner])
                op.operands[index] = copies[owner].results[owner.results.index(value)]
        body.add_op(op)

    for op in group.ops:
        op.detach()
        add(op)
    return body


def region_of(group: Group, body: Block) -> RegionOp:
    """A region with this body; its results are the values in it that ops outside read."""
    values = [result for op in body.ops for result in op.results]
    outputs = [value for value in values if any(use.operation.parent is not body for use in value.uses)]
    body.add_op(YieldOp(outputs))
    region = RegionOp(group.backend, [value.type for value in outputs], Region(body))
    region.location = region.yield_op.location = location_of_all(group.ops)
    for value, result in zip(outputs, region.outputs, strict=True):
        result.name_hint = value.name_hint
        value.replace_uses_with_if(result, lambda use: use.operation.parent is not body)
    return region
