"""Choose the layout of every value, and transpose only where layouts meet.

Rules lower each op on its own, so a subgraph starts with a transpose before and after every node that wants NHWC. Most
of the ops in between do not care: an elementwise node computes the same in any order of the dimensions. Such flexible
ops that are joined by values, directly or through transposes, form an *island*, which takes one layout as a whole. Each
transpose at an island's border says what layout would make it go away; the island takes the one with the least data
left to transpose, or stays as it is written where that moves least. The cost of a transpose is the number of elements
it moves, in whole tiles: XNNPACK transposes squares of 32 bytes a side, so that 3 channels of an image in int8 cost as
much as 32, and four times what they cost in fp32. A transpose of a constant is free (its bytes are reordered when the
file is written), and one that moves only dimensions of size 1 is a reshape.

A layout is a permutation q: dimension i of the physical tensor is dimension q[i] of the value as the rules see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from math import prod

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FixedBitwidthType,
    IntegerAttr,
    ModuleOp,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, ints, rank_of, shape_of, tensor_type, u32s
from xir.dialects.xnnpack.interfaces import AnyLayout
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.transforms.xnnpack._constants import constant_like
from xir.transforms.xnnpack._outputs import distinct_outputs

Layout = tuple[int, ...]
Layouts = dict[Operation, Layout]
"""The layouts of an island's ops."""
Move = tuple[SSAValue, Layout]
"""A value and the permutation that it is needed in."""

DYNAMIC_SIZE = 64
"""What a dimension of unknown size counts as."""

TILE_BYTES = 32
"""The side of the squares that XNNPACK's transposes work on (`src/configs/transpose-config.c`, AVX2; half on Arm)."""


@cache
def identity(rank: int) -> Layout:
    """The layout of a value as it is."""
    return tuple(range(rank))


@lru_cache(maxsize=65536)
def compose(p: Layout, q: Layout) -> Layout:
    """The layout of T_q(T_p(x)): first p, then q."""
    return tuple(p[i] for i in q)


@cache
def inverse(p: Layout) -> Layout:
    """The layout that undoes p."""
    result = [0] * len(p)
    for i, axis in enumerate(p):
        result[axis] = i
    return tuple(result)


@dataclass(frozen=True)
class PropagateLayoutPass(XirPass):
    """Let flexible nodes take the layout of their neighbours, so that transposes meet and cancel.

    Before:
    ```mlir
    %1 = xnnpack.conv2d %0, %w : (tensor<1x8x8x3xf32>, tensor<4x1x1x3xf32>) -> tensor<1x8x8x4xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 0, 3, 1, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
    %3 = xnnpack.unary hardswish %2 : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    %4 = xnnpack.static_transpose %3 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x4x8x8xf32> -> tensor<1x8x8x4xf32>
    ```
    After:
    ```mlir
    %1 = xnnpack.conv2d %0, %w : (tensor<1x8x8x3xf32>, tensor<4x1x1x3xf32>) -> tensor<1x8x8x4xf32>
    %2 = xnnpack.unary hardswish %1 : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32>
    ```
    """

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Lay out every subgraph of the module."""
        for subgraph in list(op.walk()):
            if isinstance(subgraph, xnnpack.SubgraphOp):
                Layouter(ctx, subgraph.body.block).run()


@dataclass(frozen=True)
class Traced:
    """A value seen through the transposes that make it: it is `root` in layout `perm`."""

    root: SSAValue
    perm: Layout

    @staticmethod
    def itself(value: SSAValue) -> Traced:
        """A value that no transpose makes."""
        return Traced(value, identity(rank_of(value)))


@dataclass(frozen=True)
class Read:
    """A value that an op of an island reads, or, with `perm`, that an op outside reads of it."""

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


class Layouter:
    """Lays out one block."""

    def __init__(self, ctx: XirContext, block: Block):
        self.ctx = ctx
        self.block = block
        self.traced: dict[SSAValue, Traced] = {}
        self.layouts: dict[Operation, Layout] = {}
        """The layout chosen for each flexible op."""
        self.needed: Counter[Move] = Counter()
        """How many islands and bound ops ask for a move, with the islands in the layouts chosen so far."""
        self.physical: dict[SSAValue, Traced] = {}
        """Old value -> what holds its elements now, and in which layout."""
        self.made: dict[tuple[SSAValue, Layout], SSAValue] = {}
        """Transposes that were written already."""
        self.written: set[SSAValue] = set()
        """Their results."""

    def run(self) -> None:
        """Choose the layouts, then rewrite the block."""
        ops = list(self.block.ops)
        if not any(isinstance(op, xnnpack.StaticTransposeOp) for op in ops):
            return
        self.traced.update((argument, Traced.itself(argument)) for argument in self.block.args)
        for op in ops:
            for value in op.results:
                self.traced[value] = self.trace(value)
        islands = self.islands(ops)
        self.count_moves(ops, islands)
        for island in islands:
            self.choose(island)
        for op in ops:
            self.rewrite(op)
        for op in reversed(ops):
            if op.results and all(result.first_use is None for result in op.results):
                op.detach()
                op.erase()

    def trace(self, value: SSAValue) -> Traced:
        """`value` through the transpose that makes it, if one does; operands are traced already."""
        if not isinstance(value.owner, xnnpack.StaticTransposeOp):
            return Traced.itself(value)
        before = self.traced[value.owner.input]
        return Traced(before.root, compose(before.perm, ints(value.owner.perm)))

    def islands(self, ops: Sequence[Operation]) -> list[Island]:
        """Group flexible ops that exchange values, by a walk over their neighbours."""
        neighbours: dict[Operation, list[tuple[Operation, Layout]]] = {}
        for op in ops:
            if not is_flexible(op):
                continue
            neighbours.setdefault(op, [])
            for value in op.operands:
                seen = self.traced[value]
                producer = seen.root.owner
                if isinstance(producer, Operation) and is_flexible(producer):
                    # op's frame is producer's permuted by perm: op in layout q is producer in layout perm∘q.
                    neighbours[producer].append((op, inverse(seen.perm)))
                    neighbours[op].append((producer, seen.perm))
        islands: list[Island] = []
        placed: set[Operation] = set()
        for start in neighbours:
            if start in placed:
                continue
            island = Island({start: identity(rank_of(start.results[0]))})
            placed.add(start)
            pending = [start]
            while pending:
                op = pending.pop()
                for other, relation in neighbours[op]:
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

        Moves that somebody else needs as well cost nothing, and what is written is a candidate: so no choice makes the
        block move more than before.
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

    def cost(self, moved: dict[Move, int]) -> tuple[int, int]:
        """(elements moved, nodes needed to move them) for one island alone."""
        own = [elements for move, elements in moved.items() if not self.needed[move]]
        return sum(own), len(own)

    def rewrite(self, op: Operation) -> None:
        """Write one op in its layout."""
        if isinstance(op, xnnpack.StaticTransposeOp):
            # op is T_perm of its operand, which `held` holds in layout x; so it holds op in layout perm⁻¹∘x.
            held = self.holder(op.input)
            self.physical[op.output] = Traced(held.root, compose(inverse(ints(op.perm)), held.perm))
            return
        layout = self.layouts.get(op)
        if layout is None:
            op.operands = self.operands(op, [identity(rank_of(value)) for value in op.operands])
            if isinstance(op, xnnpack.YieldOp):
                op.operands, copies = distinct_outputs(op.operands)
                self.block.insert_ops_before(copies, op)
            return
        op.operands = self.operands(op, [layout] * len(op.operands))
        if layout == identity(len(layout)):
            return
        moved = relaid(op, layout)
        inherit(moved, op)
        self.block.insert_op_before(moved, op)
        for old, new in zip(op.results, moved.results, strict=True):
            new.name_hint = old.name_hint
            self.physical[old] = Traced(new, layout)

    def operands(self, op: Operation, layouts: Sequence[Layout]) -> list[SSAValue]:
        """The old operands of an op in these layouts. The op stands for the transposes before it that are gone."""
        found = [self.get(value, layout, op) for value, layout in zip(op.operands, layouts, strict=True)]
        gone = [
            transpose
            for old, new in zip(op.operands, found, strict=True)
            if new not in self.written
            for transpose in transposes_behind(old)
        ]
        if gone and isinstance(op, xnnpack.NodeOp):
            inherit(op, op, *gone)
        return found

    def holder(self, value: SSAValue) -> Traced:
        """What holds the elements of an old value now."""
        return self.physical.get(value) or Traced.itself(value)

    def get(self, value: SSAValue, layout: Layout, user: Operation) -> SSAValue:
        """The old `value` in `layout`, for a use by `user`; writes a transpose if nothing holds it so."""
        held = self.holder(value)
        if len(layout) > rank_of(held.root):
            return self.get_constant(held.root, layout, user)
        step = compose(inverse(held.perm), layout)
        if step == identity(len(step)):
            return held.root
        if (held.root, step) not in self.made:
            self.made[held.root, step] = self.transposed(held.root, step, user, transposes_behind(value))
        return self.made[held.root, step]

    def get_constant(self, value: SSAValue, layout: Layout, user: Operation) -> SSAValue:
        """A constant of lower rank, widened with leading 1s as broadcasting would and then permuted."""
        assert isinstance(value.owner, xnnpack.ConstantOp)
        if layout == identity(len(layout)) or prod(shape_of(value)) == 1:
            return value
        if (value, layout) not in self.made:
            array = storage_array(value.owner.value, self.ctx, value.owner)
            array = array.reshape((1,) * (len(layout) - array.ndim) + array.shape)
            self.made[value, layout] = self.constant(value.owner, array.transpose(layout), user)
        return self.made[value, layout]

    def transposed(self, value: SSAValue, step: Layout, user: Operation, through: Sequence[Operation]) -> SSAValue:
        """T_step(value), written before `user`, in the place of the transposes `through`, if there were any."""
        if isinstance(value.owner, xnnpack.ConstantOp):
            array = storage_array(value.owner.value, self.ctx, value.owner)
            return self.constant(value.owner, array.transpose(step), user)
        shape = [shape_of(value)[i] for i in step]
        result_type = tensor_type(element_type(value), shape)
        if transpose_cost(shape_of(value), step, element_type(value)) == 0 and DYNAMIC_INDEX not in shape:
            properties: dict[str, Attribute] = {"new_shape": u32s(shape)}
            op = xnnpack.StaticReshapeOp.create(operands=[value], result_types=[result_type], properties=properties)
        else:
            op = xnnpack.StaticTransposeOp.create(
                operands=[value], result_types=[result_type], properties={"perm": u32s(step)}
            )
        inherit(op, *(through or (user,)))
        self.block.insert_op_before(op, user)
        self.written.add(op.results[0])
        return op.results[0]

    def constant(self, old: xnnpack.ConstantOp, array: np.ndarray, user: Operation) -> SSAValue:
        """The constant `old` with its elements reordered to `array`, a view; written before `user`."""
        op = constant_like(old, array, self.ctx)
        self.block.insert_op_before(op, user)
        return op.output


def transposes_behind(value: SSAValue) -> list[Operation]:
    """The transposes that make a value, the last first."""
    found: list[Operation] = []
    while isinstance(value.owner, xnnpack.StaticTransposeOp):
        found.append(value.owner)
        value = value.owner.input
    return found


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
    """What is written, and the island as a whole in each layout that makes a transpose at its border go away.

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


def is_flexible(op: Operation) -> bool:
    """Whether the op may run in any layout: all of its operands have the result's rank, or are constants."""
    if not op.has_trait(AnyLayout):
        return False
    rank = rank_of(op.results[0])
    return all(rank_of(v) == rank or isinstance(v.owner, xnnpack.ConstantOp) for v in op.operands)


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
    stored = element.storage if isinstance(element, UniformType) else element
    tile = TILE_BYTES // (stored.size if isinstance(stored, FixedBitwidthType) else 1)
    for side in (innermost, -1):
        sizes[side] = -(-sizes[side] // tile) * tile
    return prod(sizes)


def relaid(op: Operation, layout: Layout) -> Operation:
    """A copy of a flexible op whose operands are in `layout` already."""
    properties, described = dict(op.properties), op.get_trait(AnyLayout)
    assert described is not None
    for name in described.by_dimension:
        values = properties[name]
        assert isinstance(values, DenseArrayBase)
        properties[name] = u32s([ints(values)[axis] for axis in layout])
    if described.dimension is not None:
        dimension = properties[described.dimension]
        assert isinstance(dimension, IntegerAttr)
        properties[described.dimension] = IntegerAttr(layout.index(dimension.value.data), i32)
    result = op.results[0]
    result_type = tensor_type(element_type(result), [shape_of(result)[axis] for axis in layout])
    return type(op).create(operands=list(op.operands), result_types=[result_type], properties=properties)
