"""Which of the ops that XNNPACK can compute go into one subgraph together.

Delegated ops are grouped by *level*: the number of times that some path from the inputs changes from XNNPACK to the
rest and back. Ops of one level never wait for each other through an op outside, so one subgraph can hold them all, and
no partition into subgraphs without a cycle can have fewer: a path that changes n times needs n of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from xir.dialects import edge
from xir.transforms.analysis.looked_through import is_looked_through


@dataclass
class Lowered:
    """What a rule made of one edge op: the ops it built and the values that replace the results."""

    ops: list[Operation]
    values: Sequence[SSAValue]
    node_count: int
    """How many of the ops there are to run; constants are none."""
    only_moves: bool
    """Whether nothing is computed."""

    @property
    def does_nothing(self) -> bool:
        """Whether the results are values that were there before."""
        return all(value.owner not in self.ops for value in self.values)


def islands(ops: Sequence[Operation], lowered: dict[Operation, Lowered]) -> list[Operation]:
    """The delegated ops that cost more to enter than they save.

    An island is a connected set of delegated ops that computes nothing and touches an op outside: it takes one's result
    or hands one an operand. A kernel outside moves the data, or fills a tensor, as well as a node inside, and no
    delegate has to be entered and left for it.
    """
    neighbours: dict[Operation, list[Operation]] = {op: [] for op in lowered}
    ashore: set[Operation] = set()
    unread = unread_ops(ops, lowered)
    for op in ops:
        if op in unread:
            continue
        for producer in producers(op, lowered):
            if op in lowered and producer in lowered:
                neighbours[op].append(producer)
                neighbours[producer].append(op)
            elif op in lowered and not isinstance(producer, edge.ConstantOp):
                ashore.add(op)
            elif producer in lowered and not op.has_trait(IsTerminator):
                ashore.add(producer)
    found: list[Operation] = []
    seen: set[Operation] = set()
    for start in lowered:
        if start in seen:
            continue
        seen.add(start)
        component = [start]
        for op in component:
            component += (new := [other for other in dict.fromkeys(neighbours[op]) if other not in seen])
            seen.update(new)
        if not ashore.isdisjoint(component) and all(lowered[op].only_moves or is_filling(op) for op in component):
            found += component
    return found


def is_filling(op: Operation) -> bool:
    """Whether an op makes a tensor of numbers alone."""
    return isinstance(op, edge.EdgeOp) and not op.schema.tensors


def unread_ops(ops: Sequence[Operation], lowered: dict[Operation, Lowered]) -> set[Operation]:
    """The ops that only delegated ops read, which do so no more: on sizes, and those that rules look through."""
    unread: set[Operation] = set()
    for op in reversed(ops):
        if (computes_sizes(op) or is_looked_through(op)) and is_unread(op, lowered, unread):
            unread.add(op)
    return unread


def is_unread(op: Operation, lowered: dict[Operation, Lowered], unread: set[Operation]) -> bool:
    """Whether what ops read an op's results are delegated, or unread themselves; nodes built on them are neither."""
    readers = {use.operation for result in op.results for use in result.uses}
    return all(reader in lowered or reader in unread for reader in readers)


def computes_sizes(op: Operation) -> bool:
    """Whether an op's results are numbers: what a size is, not what a tensor holds."""
    return bool(op.results) and not any(isinstance(result.type, TensorType) for result in op.results)


def assign_levels(ops: Iterable[Operation], lowered: dict[Operation, Lowered]) -> dict[Operation, int]:
    """The level of each op: an op outside that uses a delegated value begins a new one.

    Ops with side effects stay in their order: each is at least on the level of the one before it.
    """
    levels: dict[Operation, int] = {}
    effects = 0
    for op in ops:
        level = 0
        for producer in producers(op, lowered):
            if producer in levels:
                crossing = producer in lowered and op not in lowered
                level = max(level, levels[producer] + crossing)
        if not op.has_trait(Pure):
            level = effects = max(level, effects)
        levels[op] = level
    return levels


def producers(op: Operation, lowered: dict[Operation, Lowered]) -> Iterator[Operation]:
    """The ops whose results `op` reads, also from inside its regions; of what is delegated, what it was lowered to."""
    if op in lowered:
        own = set(lowered[op].ops)
        for reader in lowered[op].ops:
            yield from (
                owner for value in reader.operands if isinstance(owner := value.owner, Operation) and owner not in own
            )
        return
    for reader in op.walk() if op.regions else (op,):
        yield from (value.owner for value in reader.operands if isinstance(value.owner, Operation))


def groups_of(levels: dict[Operation, int], lowered: dict[Operation, Lowered]) -> list[list[Operation]]:
    """The delegated ops of each level, in program order."""
    groups: dict[int, list[Operation]] = {}
    for op, level in levels.items():
        if op in lowered:
            groups.setdefault(level, []).append(op)
    return list(groups.values())


def reorder(
    block: Block, ops: Sequence[Operation], levels: dict[Operation, int], lowered: dict[Operation, Lowered]
) -> None:
    """Sort a block by level, on each level the ops outside before the delegated ones; the terminator stays last."""
    for op in ops:
        op.detach()
    block.add_ops(sorted(ops[:-1], key=lambda op: (levels[op], op in lowered)))
    block.add_op(ops[-1])
