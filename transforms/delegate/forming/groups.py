"""Which of the ops that backends take go into one delegate together.

They are grouped by *level*: the number of times that some path from the inputs changes from a backend to what comes
before it in the order "outside, first backend, second backend, …". Ops of one backend and level never wait for each
other through others, so one delegate can hold them all, and with one backend no partition into delegates without a
cycle can have fewer: a path that changes n times needs n of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, Pure

from xir.dialects import edge
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.delegate.forming.marks import Marks, Refuse, goes_along

ISLAND = Refusal(
    "it only moves data between ops outside",
    example="""
func.func @forward(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.view(%0) {size = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}
""",
)
SMALL_GROUP = Refusal("its group of {nodes} nodes is smaller than min-ops={min_ops}")


@dataclass(frozen=True)
class Group:
    """The ops of one delegate, in program order."""

    backend: str
    ops: list[Operation]


def form_groups(block: Block, marks: Marks, *, min_ops: int, per_op: bool, leave: Refuse) -> list[Group]:
    """Sort a block so that the ops of each delegate are neighbours, and list the delegates.

    With `per_op` each op is one, and nothing moves. Islands and groups of fewer nodes than `min_ops` stay outside,
    about which `leave` is told before.
    """
    ops = list(block.ops)
    if per_op:
        groups = [Group(marks.backends[op], [op]) for op in marks.taken]
    else:
        reads = Reads(marks)
        if found := islands(ops, marks, reads):
            for op in found:
                leave(op, ISLAND())
                marks.leave(op)
            reads = Reads(marks)
        groups = sorted_groups(block, ops, marks, reads)
    for group in groups:
        if (nodes := sum(marks.taken[op].nodes for op in group.ops)) < min_ops:
            for op in group.ops:
                leave(op, SMALL_GROUP(nodes=nodes, min_ops=min_ops))
                marks.leave(op)
    return [group for group in groups if group.ops[0] in marks.taken]


def islands(ops: Sequence[Operation], marks: Marks, reads: Reads) -> list[Operation]:
    """The ops that cost more to enter a delegate for than it saves.

    An island is a connected set of ops of one backend that computes nothing and touches another op: it takes one's
    result or hands one an operand. A kernel outside moves the data, or fills a tensor, as well as a node inside, and no
    delegate has to be entered and left for it.
    """
    neighbors: dict[Operation, list[Operation]] = {op: [] for op in marks.taken}
    ashore: set[Operation] = set()
    for op in ops:
        if op in reads.along:
            continue
        backend = marks.backends.get(op)
        for producer in reads(op):
            other = marks.backends.get(producer)
            if backend is not None and backend == other:
                neighbors[op].append(producer)
                neighbors[producer].append(op)
                continue
            if backend is not None and not isinstance(producer, edge.ConstantOp | edge.MutableBufferOp):
                ashore.add(op)
            if other is not None and not op.has_trait(IsTerminator):
                ashore.add(producer)
    found: list[Operation] = []
    seen: set[Operation] = set()
    for start in marks.taken:
        if start in seen:
            continue
        seen.add(start)
        component = [start]
        for op in component:
            component += (new := [other for other in dict.fromkeys(neighbors[op]) if other not in seen])
            seen.update(new)
        if not ashore.isdisjoint(component) and all(marks.taken[op].only_moves or is_filling(op) for op in component):
            found += component
    return found


def is_filling(op: Operation) -> bool:
    """Whether an op creates a tensor from numbers, without a tensor operand."""
    return isinstance(op, edge.EdgeOp) and not op.schema.tensors


class Reads:
    """Which ops each op of a block depends on, through those that go along with their readers."""

    def __init__(self, marks: Marks):
        self.taken = marks.taken
        self.along = ops_along(marks)
        """The ops that go wherever their users go: they have no place of their own in the order."""
        self.known: dict[Operation, list[Operation]] = {}

    def __call__(self, op: Operation) -> list[Operation]:
        """The ops whose results `op` reads, also from inside its regions, and those that what was built of it reads."""
        found = self.known.get(op)
        if found is None:
            found = self.known[op] = self.find(op)
        return found

    def find(self, op: Operation) -> list[Operation]:
        """What a call returns, the first time."""
        found: list[Operation] = []
        for reader in op.walk() if op.regions else (op,):
            for value in reader.operands:
                if not isinstance(owner := value.owner, Operation):
                    continue
                if owner in self.along:
                    found += self(owner)
                else:
                    found.append(owner)
        taken = self.taken.get(op)
        if taken is not None and taken.built:
            own = {*taken.built, *found}
            for built in taken.built:
                for value in built.operands:
                    if isinstance(owner := value.owner, Operation) and owner not in own:
                        found.append(owner)
        return found


def ops_along(marks: Marks) -> dict[Operation, str]:
    """The ops that go into the delegates of those that read them, all of which are taken, in program order.

    They are ops on sizes, and those that the backend of their readers looks through.
    """
    along: dict[Operation, str] = {}
    for op, backend in reversed(marks.along.items()):
        if goes_along(op, backend, marks.backends, along):
            along[op] = backend
    return dict(reversed(along.items()))


def sorted_groups(block: Block, ops: Sequence[Operation], marks: Marks, reads: Reads) -> list[Group]:
    """The ops of each backend on each level, next to each other now: on a level those outside are first."""
    names = {name: rank for rank, name in enumerate(dict.fromkeys(marks.backends.values()), 1)}
    ranks = {op: names[backend] for op, backend in marks.backends.items()}
    levels = assign_levels(ops, ranks, reads)
    for op in ops:
        op.detach()
    block.add_ops(sorted(ops[:-1], key=lambda op: (levels[op], ranks.get(op, 0))))
    block.add_op(ops[-1])
    groups: dict[tuple[int, str], Group] = {}
    for op in marks.taken:
        backend = marks.backends[op]
        groups.setdefault((levels[op], backend), Group(backend, [])).ops.append(op)
    return list(groups.values())


def assign_levels(ops: Sequence[Operation], ranks: Mapping[Operation, int], reads: Reads) -> dict[Operation, int]:
    """The level of each op: one that uses a value of a higher rank begins a new one; ops outside have rank 0.

    Ops with side effects stay in their order: each is at least on the level of the one before it.
    """
    levels: dict[Operation, int] = {}
    effects = 0
    for op in ops:
        level = 0
        if op not in reads.along:
            rank = ranks.get(op, 0)
            for producer in reads(op):
                if producer in levels:
                    level = max(level, levels[producer] + (ranks.get(producer, 0) > rank))
            if not op.has_trait(Pure):
                level = effects = max(level, effects)
        levels[op] = level
    return levels
