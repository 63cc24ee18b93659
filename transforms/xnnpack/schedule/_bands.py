"""Nodes in bands: what each band of a result needs of the operands, and the nodes that compute it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, i32
from xdsl.ir import Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, shape_of, u32s
from xir.dialects.xnnpack.boxes import whole
from xir.dialects.xnnpack.interfaces import Box, SlicesOperands
from xir.dialects.xnnpack.shape import MOST_JOINED
from xir.transforms.analysis.cost import multiply_adds
from xir.transforms.xnnpack.analysis.composed import mark_composed
from xir.transforms.xnnpack.analysis.liveness import Step, activation_bytes

HEIGHT = 1
MOST_BANDS = MOST_JOINED**2

MULTIPLY_ADD, BYTE, NODE = 0.02, 0.004, 500.0
"""Nanoseconds of a multiplication, of a byte that is read or written and of a node, about as they were measured. They
only compare ways to compute the same, so their ratios matter."""

Piece = tuple[SSAValue, Box]
"""A box of a value of the program as it was; also of an operand from outside, whole or in part."""


@dataclass(frozen=True)
class Tile(Step[Piece]):
    """A node that writes one piece: a part of what `op` computes, a slice of what it reads, or its pieces joined."""

    op: xnnpack.NodeOp | None = None
    padding: tuple[int, int] | None = None
    """Above and below, of an op that has windows."""


def can_band(op: Operation) -> bool:
    """Whether parts of a node's result may be computed one by one. Rows that are quantised as a whole may not."""
    if not isinstance(op, xnnpack.NodeOp) or len(op.results) != 1:
        return False
    if any(DYNAMIC_INDEX in shape_of(value) or 0 in shape_of(value) for value in (*op.operands, *op.results)):
        return False
    if any(isinstance(element_type(value), xnnpack.DynamicType) for value in (*op.operands, *op.results)):
        return False
    return _has_windows(op) or isinstance(op, xnnpack.ConcatenateOp) or op.get_trait(SlicesOperands) is not None


def band_axis(op: Operation) -> int | None:
    """The dimension of a node's result that bands cut: its height, also where it is transposed; None without one."""
    if len(shape_of(op.results[0])) != 4:
        return None
    return ints(op.perm).index(HEIGHT) if isinstance(op, xnnpack.StaticTransposeOp) else HEIGHT


@dataclass(frozen=True)
class Bands:
    """A chain of nodes, all of whose results but the last one's stay inside, computed in bands of that result."""

    ops: tuple[xnnpack.NodeOp, ...]
    axis: int
    count: int

    @property
    def result(self) -> SSAValue:
        """What the chain computes."""
        return self.ops[-1].results[0]

    def box(self, index: int) -> Box:
        """Which part of the result a band is."""
        size = shape_of(self.result)[self.axis]
        first, last = (size * each // self.count for each in (index, index + 1))
        return _with_part(whole(self.result), self.axis, (first, last - first))

    def tiles(self) -> list[Tile] | None:
        """All nodes, in order; None where a band of some op is no such node."""
        found: list[Tile] = []
        groups: list[Piece] = []
        pieces: list[Piece] = []
        for index in range(self.count):
            band = self.band(index)
            if band is None:
                return None
            found += band
            pieces.append((self.result, self.box(index)))
            if len(pieces) == MOST_JOINED or index + 1 == self.count:
                groups.append(self._joined(pieces, found))
                pieces = []
        self._joined(groups, found)
        return found

    def _joined(self, pieces: Sequence[Piece], tiles: list[Tile]) -> Piece:
        """The pieces as one; a node more if there are several."""
        if len(pieces) == 1:
            return pieces[0]
        boxes = [box for _, box in pieces]
        part = (boxes[0][self.axis][0], sum(box[self.axis][1] for box in boxes))
        piece = (self.result, _with_part(boxes[0], self.axis, part))
        tiles.append(Tile(tuple(pieces), (piece,)))
        return piece

    def band(self, index: int) -> list[Tile] | None:
        """The nodes of one band."""
        needs: dict[SSAValue, Box] = {self.result: self.box(index)}
        wanted: dict[Operation, list[Box]] = {}
        for op in reversed(self.ops):
            if isinstance(op, xnnpack.StaticReshapeOp) and op.output in needs:
                needs[op.output] = _grown(op, needs[op.output])
            boxes = _operand_boxes(op, needs[op.results[0]]) if op.results[0] in needs else None
            if boxes is None:
                return None
            wanted[op] = boxes
            for value, box in zip(op.operands, boxes, strict=True):
                if not isinstance(value.owner, xnnpack.ConstantOp):
                    needs[value] = _hull(needs[value], box) if value in needs else box
                elif box != whole(value):
                    return None
        tiles: list[Tile] = []
        inside, cut = {op.results[0] for op in self.ops}, set[Piece]()
        for op in self.ops:
            reads: list[Piece] = []
            for value, box in zip(op.operands, wanted[op], strict=True):
                stored = needs[value] if value in inside else whole(value)
                if box != stored and (value, box) not in cut:
                    tiles.append(Tile(((value, stored),), ((value, box),)))
                    cut.add((value, box))
                reads.append((value, box))
            box = needs[op.results[0]]
            padding = _rows(op, box)[1] if _has_windows(op) else None
            tiles.append(Tile(tuple(reads), ((op.results[0], box),), op, padding))
        return tiles

    def nodes(self, tiles: Sequence[Tile]) -> tuple[list[xnnpack.NodeOp], SSAValue]:
        """The nodes of these tiles, each of which says what it is a part of, and the result."""
        made: dict[Piece, SSAValue] = {}
        nodes: list[xnnpack.NodeOp] = []
        for tile in tiles:
            (written,) = tile.writes
            node = _node(tile, [made.get(piece, piece[0]) for piece in tile.reads], self.axis)
            origin = tile.op or _producer(written[0], self.ops)
            mark_composed(node, origin, f"{_short(self.ops[-1])} in {self.count} bands")
            made[written] = node.results[0]
            nodes.append(node)
        return nodes, made[(self.result, whole(self.result))]


def nanoseconds(tiles: Sequence[Tile]) -> float:
    """About what the tiles take."""
    return sum(_tile_nanoseconds(tile) for tile in tiles)


def nanoseconds_whole(ops: Sequence[xnnpack.NodeOp]) -> float:
    """About what nodes take as they are."""
    tiles = (Tile(tuple(_whole(op.operands)), tuple(_whole(op.results)), op) for op in ops)
    return sum(map(_tile_nanoseconds, tiles))


def lives(tiles: Sequence[Tile]) -> list[Step[Piece]]:
    """What the tiles read and write in memory: reshaped tensors lie where they lay."""
    places: dict[Piece, Piece] = {}
    steps: list[Step[Piece]] = []
    for tile in tiles:
        reads = tuple(places.get(piece, piece) for piece in tile.reads)
        if isinstance(tile.op, xnnpack.StaticReshapeOp):
            places[tile.writes[0]] = reads[0]
            steps.append(Step(reads, ()))
        else:
            steps.append(Step(reads, tile.writes))
    return steps


def piece_bytes(piece: Piece) -> int:
    """What a piece takes of the memory for tensors."""
    value, box = piece
    return -(-_value_bytes(value) * prod(size for _, size in box) // prod(shape_of(value)))


# --- Boxes -------------------------------------------------------------------------------------------------------

Windowed = xnnpack.Conv2dOp | xnnpack.DepthwiseConv2dOp | xnnpack.MaxPooling2dOp | xnnpack.AveragePooling2dOp


def _has_windows(op: Operation) -> bool:
    return isinstance(op, Windowed)


def _operand_boxes(op: xnnpack.NodeOp, box: Box) -> list[Box] | None:
    """What an op needs of each operand for a box of its result; None if that is no box, or empty."""
    if isinstance(op, Windowed):
        if _with_part(box, HEIGHT, (0, 0)) != _with_part(whole(op.output), HEIGHT, (0, 0)):
            return None
        part, _ = _rows(op, box)
        if part[1] <= 0:
            return None
        return [_with_part(whole(op.input), HEIGHT, part), *(whole(value) for value in op.operands[1:])]
    if isinstance(op, xnnpack.ConcatenateOp):
        axis = op.axis.value.data % len(box)
        if box[axis] != whole(op.output)[axis]:
            return None
        return [_with_part(box, axis, whole(value)[axis]) for value in op.inputs]
    if isinstance(op, xnnpack.StaticReshapeOp):
        return _reshaped(op, box)
    slicing = op.get_trait(SlicesOperands)
    boxes = None if slicing is None else slicing.boxes(op, box)
    return None if boxes is None else list(boxes)


def _counterpart(op: xnnpack.StaticReshapeOp, axis: int) -> int | None:
    """The dimension of a reshape's operand whose rows are whole rows of one of the result's, or the other way round."""
    before, after = shape_of(op.input), shape_of(op.output)
    for first, size in enumerate(before):
        fits = after[axis] % size == 0 or size % after[axis] == 0
        if size > 1 and fits and prod(before[:first]) == prod(after[:axis]):
            return first
    return None


def _grown(op: xnnpack.StaticReshapeOp, box: Box) -> Box:
    """The smallest box around one of a reshape's result that is a box of its operand: merged rows stay whole."""
    for axis, ((offset, count), size) in enumerate(zip(box, shape_of(op.output), strict=True)):
        first = _counterpart(op, axis) if count < size else None
        if first is not None:
            run = max(size // shape_of(op.input)[first], 1)
            begin, end = offset // run * run, -(-(offset + count) // run) * run
            box = _with_part(box, axis, (begin, end - begin))
    return box


def _reshaped(op: xnnpack.StaticReshapeOp, box: Box) -> list[Box] | None:
    """The box of a reshape's operand for one of its result that `_grown` gave; None for more than one cut dimension."""
    cut = [axis for axis, size in enumerate(shape_of(op.output)) if box[axis][1] < size]
    if not cut:
        return [whole(op.input)]
    first = _counterpart(op, cut[0])
    if len(cut) > 1 or first is None:
        return None
    before, after = shape_of(op.input)[first], shape_of(op.output)[cut[0]]
    offset, count = box[cut[0]]
    return [_with_part(whole(op.input), first, (offset * before // after, count * before // after))]


def _rows(op: Operation, box: Box) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first row and the number of rows that windows touch for a box of the result, and the padding around them."""
    assert isinstance(op, Windowed)
    is_pooling = isinstance(op, xnnpack.MaxPooling2dOp | xnnpack.AveragePooling2dOp)
    kernel = ints(op.kernel)[0] if is_pooling else op.kernel_height
    dilation = 1 if isinstance(op, xnnpack.AveragePooling2dOp) else ints(op.dilation)[0]
    stride, height = ints(op.stride)[0], shape_of(op.input)[HEIGHT]
    first, count = box[HEIGHT]
    begin = first * stride - ints(op.padding)[0]
    end = begin + (count - 1) * stride + (kernel - 1) * dilation + 1
    kept = (max(begin, 0), min(end, height))
    return (kept[0], kept[1] - kept[0]), (max(-begin, 0), max(end - height, 0))


def _hull(one: Box, other: Box) -> Box:
    """The smallest box around two."""
    parts: list[tuple[int, int]] = []
    for (first, count), (first2, count2) in zip(one, other, strict=True):
        begin, end = min(first, first2), max(first + count, first2 + count2)
        parts.append((begin, end - begin))
    return tuple(parts)


def _with_part(box: Box, axis: int, part: tuple[int, int]) -> Box:
    return (*box[:axis], part, *box[axis + 1 :])


# --- Nodes -------------------------------------------------------------------------------------------------------


def _node(tile: Tile, operands: Sequence[SSAValue], axis: int) -> xnnpack.NodeOp:
    value, box = tile.writes[0]
    type = TensorType(element_type(value), [size for _, size in box])
    if tile.op is not None:
        properties = dict(tile.op.properties)
        if isinstance(tile.op, Windowed) and tile.padding is not None:
            _, right, _, left = ints(tile.op.padding)
            properties["padding"] = u32s((tile.padding[0], right, tile.padding[1], left))
        if isinstance(tile.op, xnnpack.StaticReshapeOp):
            properties["new_shape"] = u32s(type.get_shape())
        attributes = dict(tile.op.attributes)
        kind = tile.op.__class__
        return kind.create(operands=operands, result_types=[type], properties=properties, attributes=attributes)
    if len(operands) > 1:
        joined = {"axis": IntegerAttr(axis, i32)}
        return xnnpack.ConcatenateOp.create(operands=operands, result_types=[type], properties=joined)
    offsets = [first - before for (first, _), (before, _) in zip(box, tile.reads[0][1], strict=True)]
    cut = {"offsets": u32s(offsets), "sizes": u32s(type.get_shape())}
    return xnnpack.StaticSliceOp.create(operands=operands, result_types=[type], properties=cut)


def _producer(value: SSAValue, ops: Sequence[xnnpack.NodeOp]) -> Operation:
    """The op that a slice or a join is made for: what computed the value, or reads it where it is from outside."""
    if isinstance(value.owner, Operation) and value.owner in ops:
        return value.owner
    return next(op for op in ops if value in op.operands)


def _short(op: Operation) -> str:
    return op.name.removeprefix("xnnpack.")


def _whole(values: Sequence[SSAValue]) -> Iterator[Piece]:
    return ((value, whole(value)) for value in values)


def _tile_nanoseconds(tile: Tile) -> float:
    if isinstance(tile.op, xnnpack.StaticReshapeOp):
        return 0.0
    (value, box), multiplied = tile.writes[0], 0.0
    if tile.op is not None:
        multiplied = _multiply_adds(tile.op) * prod(size for _, size in box) / prod(shape_of(value))
    moved = sum(map(piece_bytes, (*tile.reads, *tile.writes)))
    return MULTIPLY_ADD * multiplied + BYTE * moved + NODE


_known_work: WeakKeyDictionary[Operation, int] = WeakKeyDictionary()
_known_bytes: WeakKeyDictionary[SSAValue, int] = WeakKeyDictionary()


def _multiply_adds(op: Operation) -> int:
    known = _known_work.get(op)
    if known is None:
        known = _known_work[op] = multiply_adds(op) or 0
    return known


def _value_bytes(value: SSAValue) -> int:
    known = _known_bytes.get(value)
    if known is None:
        known = _known_bytes[value] = activation_bytes(value)
    return known
