"""Which values can be computed in the memory of a mutable buffer.

`edge.update_buffer` has value semantics: a buffer holds its old value until the function returns. A value may be
computed in the buffer's memory all the same where nothing reads the old one afterwards. The new value is followed back
to the op that it begins with:

    %1 = edge.index_put(%k, [%at], %x)     ATen has it in place: it writes to some of what %k holds
    %2 = edge.index_put(%1, [%then], %y)   and then this one
    edge.update_buffer %k, %2

Each link is in place if the op has such a form, and what it overwrites is read by nothing that follows it and by no
other operand of its own. The first link may be any op that writes its whole result, if what the buffer held is read
before it alone. What fails leaves the value in memory of its own, and the buffer is written at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue, Use

from xir.dialects import edge
from xir.dialects.delegate import GraphOp
from xir.dialects.edge import EdgeOp


@dataclass
class InPlace:
    """What is computed in the memory of buffers."""

    homes: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The values that are, each with what stands for the buffer in whose memory it is."""
    overwriting: set[Operation] = field(default_factory=set[Operation])
    """The ops that write to parts of what their first operand holds."""


@dataclass(frozen=True)
class _Update:
    """A new value of a buffer."""

    buffer: SSAValue
    value: SSAValue
    uses: frozenset[tuple[Operation, int]]
    """Operands, by op and number, that name the buffer or its new value, but read neither."""

    def reads(self, use: Use) -> bool:
        """Whether a use of a value reads it."""
        return (use.operation, use.index) not in self.uses


def find_in_place(function: FuncOp) -> InPlace:
    """The values of a function of one block that may take the memory of the buffers that they update."""
    updates = [op for op in function.body.block.ops if isinstance(op, edge.UpdateBufferOp)]
    return _found(function.body.block, [_Update(op.buffer, op.value, frozenset({(op, 0), (op, 1)})) for op in updates])


def find_in_place_of_loop(body: FuncOp) -> InPlace:
    """The same of a loop's body: what it carries has memory of the loop's, and the next step's value goes there."""
    block = body.body.block
    end = block.last_op
    assert isinstance(end, ReturnOp)
    pairs = enumerate(zip(block.args, end.arguments, strict=False))
    return _found(block, [_Update(carried, value, frozenset({(end, i)})) for i, (carried, value) in pairs])


def _found(block: Block, updates: Sequence[_Update]) -> InPlace:
    order = {op: number for number, op in enumerate(block.ops)}
    found = InPlace()
    for update in updates:
        _follow(update, order, found)
    return found


def _follow(update: _Update, order: dict[Operation, int], found: InPlace) -> None:
    """Add the values between the buffer and its new value, if all of them may be in its memory."""
    chain: list[SSAValue] = []
    overwriting: list[Operation] = []
    value = update.value
    while value is not update.buffer:
        op = value.owner
        if value in found.homes or not isinstance(op, EdgeOp | GraphOp):
            return
        chain.append(value)
        overwritten = op.overwritten if isinstance(op, EdgeOp) else None
        if overwritten is None or overwritten.type != value.type:
            break
        if not _is_read_last_by(op, overwritten, order, update) or list(op.operands).count(overwritten) > 1:
            # The op computes a new value, then, which is where the chain may begin.
            break
        overwriting.append(op)
        value = overwritten
    if value is not update.buffer:
        first = chain[-1].owner
        assert isinstance(first, Operation)
        if update.buffer in first.operands or not _is_read_before(first, update.buffer, order, update):
            return
    found.homes.update(dict.fromkeys(chain, update.buffer))
    found.overwriting.update(overwriting)


def _is_read_last_by(op: Operation, value: SSAValue, order: dict[Operation, int], update: _Update) -> bool:
    """Whether no other op reads a value at or behind `op`."""
    return all(use.operation is op or _precedes(use, op, order, update) for use in value.uses)


def _is_read_before(op: Operation, value: SSAValue, order: dict[Operation, int], update: _Update) -> bool:
    return all(_precedes(use, op, order, update) for use in value.uses)


def _precedes(use: Use, op: Operation, order: dict[Operation, int], update: _Update) -> bool:
    """Whether a value has been read when `op` runs. Updates and results are read at the end."""
    if not update.reads(use):
        return True
    return not isinstance(use.operation, edge.UpdateBufferOp) and order[use.operation] < order[op]
