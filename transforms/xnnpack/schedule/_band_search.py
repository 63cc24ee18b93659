"""Which chains of nodes to compute in bands, and in how many, so that a delegate needs no more than some memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.ir import Block, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import shape_of
from xir.dialects.xnnpack.boxes import whole
from xir.transforms.xnnpack.analysis.liveness import activation_bytes, alive_bytes, given_to, steps_of, stored
from xir.transforms.xnnpack.schedule._bands import (
    MOST_BANDS,
    Bands,
    Piece,
    Tile,
    band_axis,
    can_band,
    lives,
    nanoseconds,
    nanoseconds_whole,
    piece_bytes,
)

COUNTS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, MOST_BANDS)
LONGEST = 30
"""Nodes of a chain. Overlaps grow with its length, so longer ones are not worth looking at."""
MOST = sys.maxsize
"""Where a tensor ends that outlives a chain."""
NEARNESS = 0.02
"""How near to the least memory the search comes that says what it is."""


@dataclass(frozen=True)
class Chosen:
    """A chain that is computed in bands."""

    bands: Bands
    tiles: Sequence[Tile]
    bytes: int
    """The most that is alive meanwhile, of the whole delegate."""
    nanoseconds: float
    """About what it takes longer than the chain as it was."""


@dataclass
class Search:
    """Looks for bands in a block of nodes of known sizes."""

    block: Block
    known: dict[tuple[int, int, int], Chosen | None] = field(default_factory=dict[tuple[int, int, int], Chosen | None])

    def __post_init__(self) -> None:
        self.ops = [op for op in self.block.ops if not isinstance(op, xnnpack.ConstantOp)]
        at = {op: index for index, op in enumerate(self.ops)}
        steps = [step for step, op in zip(steps_of(self.block), self.block.ops, strict=True) if op in at]
        self.alive = alive_bytes(steps, given_to(self.block), activation_bytes)
        self.first: dict[SSAValue, int] = {value: at[op] for op in self.ops for value in op.results}
        self.last = {
            value: max((at[use.operation] for use in value.uses), default=0)
            for value in (*self.block.args, *self.first)
        }
        self.freed: dict[SSAValue, int] = {}
        for value, last in self.last.items():
            self.freed[stored(value)] = max(self.freed.get(stored(value), 0), last)

    @property
    def peak(self) -> int:
        """The most bytes that are alive at once, without bands."""
        return max(self.alive, default=0)

    def within(self, budget: int) -> list[Chosen] | None:
        """The bands that take the least time of those that need no more than the budget; None if there are none."""
        costs = [0.0, *(inf for _ in self.ops)]
        before: list[tuple[int, Chosen | None] | None] = [None for _ in costs]
        too_many = [0]
        for size in self.alive:
            too_many.append(too_many[-1] + (size > budget))
        for begin in range(len(self.ops)):
            if costs[begin] == inf:
                continue
            if self.alive[begin] <= budget and costs[begin] < costs[begin + 1]:
                costs[begin + 1], before[begin + 1] = costs[begin], (begin, None)
            for end in self.ends(begin):
                if too_many[end] == too_many[begin]:
                    continue
                chosen = self.cheapest(begin, end, budget)
                if chosen is not None and costs[begin] + chosen.nanoseconds < costs[end]:
                    costs[end], before[end] = costs[begin] + chosen.nanoseconds, (begin, chosen)
        return None if costs[-1] == inf else list(_followed(before))

    def least(self, budget: int) -> int:
        """About the least bytes that bands come down to, above a budget that they cannot keep."""
        low, high = budget, self.peak
        while high - low > NEARNESS * high:
            middle = (low + high) // 2
            found = self.within(middle)
            if found is None:
                low = middle
            else:
                high = middle
        return high

    def ends(self, begin: int) -> Iterator[int]:
        """Where a chain may end that begins with a node: behind each that all other results before do not outlive."""
        last = 0
        for index in range(begin, min(begin + LONGEST, len(self.ops))):
            op = self.ops[index]
            if not can_band(op):
                return
            if begin < index >= last and band_axis(op) is not None:
                yield index + 1
            last = max(last, self.last[op.results[0]])

    def cheapest(self, begin: int, end: int, budget: int) -> Chosen | None:
        """The fewest bands of a chain that keep the budget: they overlap least."""
        ops = tuple(op for op in self.ops[begin:end] if isinstance(op, xnnpack.NodeOp))
        axis = band_axis(ops[-1])
        assert axis is not None
        result = ops[-1].results[0]
        read = {value for op in ops for value in op.operands if self.first.get(value, -1) < begin}
        lain = set(map(stored, read))
        around = sum(
            activation_bytes(value)
            for value, freed in self.freed.items()
            if freed >= end and self.first.get(value, -1) < begin and value not in lain
        )
        if around + 2 * activation_bytes(result) > budget:
            return None
        given = {(value, whole(value)): MOST if self.freed.get(stored(value), 0) >= end else 0 for value in read}
        for count in COUNTS:
            if count > shape_of(result)[axis]:
                break
            bands = Bands(ops, axis, count)
            key = (begin, end, count)
            if key not in self.known:
                middle = bands.band(count // 2)
                if middle is None:
                    return None
                if around + max(alive_bytes(lives(middle), dict.fromkeys(given, MOST), piece_bytes)) > budget:
                    continue
                self.known[key] = _chosen(bands, given, around)
            chosen = self.known[key]
            if chosen is not None and chosen.bytes <= budget:
                return chosen
        return None


def _chosen(bands: Bands, given: Mapping[Piece, int], around: int) -> Chosen | None:
    """What bands need and take; None if they cannot be."""
    tiles = bands.tiles()
    if tiles is None:
        return None
    needed = around + max(alive_bytes(lives(tiles), given, piece_bytes))
    return Chosen(bands, tiles, needed, nanoseconds(tiles) - nanoseconds_whole(bands.ops))


def _followed(before: Sequence[tuple[int, Chosen | None] | None]) -> Iterator[Chosen]:
    """The bands on the way to the end, the last first."""
    index = len(before) - 1
    while (step := before[index]) is not None:
        index, chosen = step
        if chosen is not None:
            yield chosen
