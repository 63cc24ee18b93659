"""Islands of flexible nodes, and the layouts in which they leave the least data to transpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, ints, rank_of, shape_of
from xir.transforms.xnnpack.optimize._layouts import Layout, Traced, compose, identity, inverse, is_flexible

Layouts = dict[Operation, Layout]
"""The layouts of an island's ops."""
Move = tuple[SSAValue, Layout]
"""A value and the permutation that it is needed in."""

DYNAMIC_SIZE = 64
"""What a dimension of unknown size counts as."""

TILE_BYTES = 32
"""The side of the squares that XNNPACK's transposes work on (`src/configs/transpose-config.c`, AVX2; half on Arm)."""


@dataclass(frozen=True)
class Read:
    """A read across the border of an island: by one of its ops, or, in layout `perm`, by an op outside."""

    op: Operation
    value: SSAValue
    shape: tuple[int, ...]
    perm: Layout


@dataclass
class Island:
    """Flexible ops that share one layout, each with the permutation of its frame against the first op's."""

    frames: dict[Operation, Layout] = field(default_factory=dict[Operation, Layout])
    operands: list[Read] = field(default_factory=list[Read])
    """What the ops read, seen through transposes; constants are left out, because they fit in anywhere."""
    demands: list[Read] = field(default_factory=list[Read])
    """What ops outside read of the ops' results, and in which layout."""

    def as_written(self) -> Layouts:
        """Every op in the layout that it has."""
        return dict.fromkeys(self.frames, identity(self.rank))

    @property
    def rank(self) -> int:
        """The number of dimensions that all of its ops compute on."""
        return len(next(iter(self.frames.values())))


class LayoutChooser:
    """Chooses the layouts of a block's flexible ops."""

    def __init__(self, traced: Mapping[SSAValue, Traced]):
        self.traced = traced
        self.needed: Counter[Move] = Counter()
        """How many islands and bound ops ask for a move, with the islands in the layouts chosen so far."""
        self.layouts: Layouts = {}

    def run(self, ops: Sequence[Operation]) -> Layouts:
        """The layout for each flexible op."""
        islands = self.islands(ops)
        self.count_moves(ops, islands)
        for island in islands:
            self.choose(island)
        return self.layouts

    def islands(self, ops: Sequence[Operation]) -> list[Island]:
        """Group flexible ops that exchange values, by a walk over their neighbours."""
        neighbors: dict[Operation, list[tuple[Operation, Layout]]] = {}
        for op in ops:
            if not is_flexible(op):
                continue
            neighbors.setdefault(op, [])
            for value in op.operands:
                seen = self.traced[value]
                producer = seen.root.owner
                if isinstance(producer, Operation) and is_flexible(producer):
                    # op's frame is producer's permuted by perm: op in layout q is producer in layout perm∘q.
                    neighbors[producer].append((op, inverse(seen.perm)))
                    neighbors[op].append((producer, seen.perm))
        islands: list[Island] = []
        placed: set[Operation] = set()
        for start in neighbors:
            if start in placed:
                continue
            island = Island({start: identity(rank_of(start.results[0]))})
            placed.add(start)
            pending = [start]
            while pending:
                op = pending.pop()
                for other, relation in neighbors[op]:
                    if other not in placed:
                        placed.add(other)
                        island.frames[other] = compose(relation, island.frames[op])
                        pending.append(other)
            self.find_borders(island)
            islands.append(island)
        return islands

    def find_borders(self, island: Island) -> None:
        """Fill in what the island reads and what is read of it."""
        for op in island.frames:
            for value in op.operands:
                seen = self.traced[value]
                if not isinstance(seen.root.owner, xnnpack.ConstantOp):
                    island.operands.append(Read(op, seen.root, shape_of(seen.root), seen.perm))
            for result in op.results:
                shape = shape_of(result)
                island.demands += [Read(op, result, shape, perm) for perm in demands(result, island.frames)]

    def count_moves(self, ops: Sequence[Operation], islands: Sequence[Island]) -> None:
        """Fill `needed` for the block as it is: every island in the identity layout."""
        flexible = {op for island in islands for op in island.frames}
        for op in ops:
            if op in flexible or isinstance(op, xnnpack.StaticTransposeOp):
                continue
            seen = [self.traced[value] for value in op.operands]
            self.needed.update((s.root, s.perm) for s in seen if s.root.owner not in flexible)
        for island in islands:
            self.needed.update(moves(island, island.as_written()).keys())

    def choose(self, island: Island) -> None:
        """Give the island the layouts with the least data to transpose.

        Moves that other users need as well cost nothing, and the present layout is a candidate, so that no choice moves
        more data than before.
        """
        best, *others = candidates(island)
        best_moves = moves(island, best)
        self.needed.subtract(best_moves.keys())
        best_cost = self.cost(best_moves)
        for layouts in others:
            moved = moves(island, layouts)
            if (cost := self.cost(moved)) < best_cost:
                best, best_moves, best_cost = layouts, moved, cost
        self.needed.update(best_moves.keys())
        self.layouts.update(best)

    def cost(self, moved: dict[Move, int]) -> tuple[int, int, int]:
        """(elements moved, nodes needed to move them, their bytes) for one island alone.

        Bytes decide only between as many elements, as on both sides of a conversion: of few channels a transpose of 8
        bits takes longer than one of 32, since more of each of its tiles stays unused.
        """
        own = {move: elements for move, elements in moved.items() if not self.needed[move]}
        size = sum(elements * bytes_of(element_type(value)) for (value, _), elements in own.items())
        return sum(own.values()), len(own), size


def demands(value: SSAValue, inside: Container[Operation]) -> list[Layout]:
    """The layouts in which ops that are not `inside` read `value`."""
    found: list[Layout] = []
    pending = [(value, identity(rank_of(value)))]
    while pending:
        current, perm = pending.pop()
        for use in current.uses:
            user = use.operation
            if isinstance(user, xnnpack.StaticTransposeOp):
                pending.append((user.output, compose(perm, ints(user.perm))))
            elif user not in inside:
                found.append(perm)
    return found


def candidates(island: Island) -> Iterator[Layouts]:
    """The layouts as written, and for each transpose at the border those that remove it.

    An op with frame f takes layout f∘q when the first op takes q: the frames were composed from that side.
    """
    yield island.as_written()
    wanted: dict[Layout, None] = {identity(island.rank): None}
    for read in island.operands:
        if read.value.owner not in island.frames:
            wanted[compose(inverse(island.frames[read.op]), inverse(read.perm))] = None
    for read in island.demands:
        wanted[compose(inverse(island.frames[read.op]), read.perm)] = None
    for q in wanted:
        yield {op: compose(frame, q) for op, frame in island.frames.items()}


def moves(island: Island, layouts: Layouts) -> dict[Move, int]:
    """The transposes in an island and at its borders when its ops take `layouts`, and the elements each moves."""
    moved: dict[Move, int] = {}
    still = identity(island.rank)
    for read in island.operands:
        producer = read.value.owner
        held = layouts.get(producer, still) if isinstance(producer, Operation) else still
        # The producer holds the value in layout `held`; the op wants it in layout perm∘layout.
        step = compose(inverse(held), compose(read.perm, layouts[read.op]))
        if step != still:
            moved[read.value, step] = transpose_cost([read.shape[i] for i in held], step, element_type(read.value))
    for read in island.demands:
        layout = layouts[read.op]
        step = compose(inverse(layout), read.perm)
        if step != still:
            moved[read.value, step] = transpose_cost([read.shape[i] for i in layout], step, element_type(read.value))
    return moved


def transpose_cost(shape: Sequence[int], perm: Layout, element: Attribute) -> int:
    """Elements that a transpose moves, tiles that are only partly used counted whole.

    None if only dimensions of size 1 change places, and no tiles where runs of elements stay together.
    """
    runs: list[list[int]] = []
    for axis in perm:
        if shape[axis] == 1:
            continue
        following = range(runs[-1][-1] + 1, axis) if runs else ()
        if runs and axis > runs[-1][-1] and all(shape[between] == 1 for between in following):
            runs[-1].append(axis)
        else:
            runs.append([axis])
    if len(runs) < 2:
        return 0
    sizes = [prod(DYNAMIC_SIZE if shape[axis] == DYNAMIC_INDEX else shape[axis] for axis in run) for run in runs]
    innermost = runs.index(max(runs))
    if innermost == len(runs) - 1:
        return prod(sizes)
    tile = TILE_BYTES // bytes_of(element)
    for side in (innermost, -1):
        sizes[side] = -(-sizes[side] // tile) * tile
    return prod(sizes)


def bytes_of(element: Attribute) -> int:
    """The size of an element; 1 for what is smaller than a byte, or quantised at run time."""
    stored = element.storage if isinstance(element, UniformType) else element
    return stored.size if isinstance(stored, FixedBitwidthType) else 1
