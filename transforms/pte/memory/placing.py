"""Offsets of tensors in an arena: tensors whose live ranges do not overlap may share bytes.

Two strategies are tried, and the smaller arena is taken. *By size* places large tensors first, each at the lowest
offset that is free over its live range; it compares each pair of overlapping live ranges, and is skipped if there are
too many. *By time* follows the program and takes the smallest gap that holds a tensor: n·log n, however many ranges
overlap.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

LARGEST_ARENA = 2**62
"""In bytes: sizes and offsets in a file are signed, and have 64 bits."""

MAX_PAIRS = 2**20
"""The largest number of pairs that is considered, which takes about a second."""


class Lifetime(NamedTuple):
    """A tensor's size in bytes and its live range: the numbers of its first and last instruction."""

    size: int
    first: int
    last: int


def place(lifetimes: Sequence[Lifetime]) -> list[int]:
    """An offset for each tensor."""
    offsets = place_by_time(lifetimes)
    neighbors = living_together(lifetimes)
    if neighbors is None:
        return offsets
    by_size = place_by_size(lifetimes, neighbors)
    return by_size if extent(lifetimes, by_size) <= extent(lifetimes, offsets) else offsets


def extent(lifetimes: Sequence[Lifetime], offsets: Sequence[int]) -> int:
    """The size of the arena for tensors at these offsets, in bytes."""
    return max((offset + each.size for offset, each in zip(offsets, lifetimes, strict=True)), default=0)


def living_together(lifetimes: Sequence[Lifetime], limit: int = MAX_PAIRS) -> list[list[int]] | None:
    """For each tensor the indices of those whose live ranges overlap its own; None for more than `limit` pairs."""
    neighbors: list[list[int]] = [[] for _ in lifetimes]
    alive: set[int] = set()
    pairs = 0
    for index, starts in events(lifetimes):
        if not starts:
            alive.remove(index)
            continue
        pairs += len(alive)
        if pairs > limit:
            return None
        for other in alive:
            neighbors[other].append(index)
        neighbors[index].extend(alive)
        alive.add(index)
    return neighbors


def events(lifetimes: Sequence[Lifetime]) -> list[tuple[int, bool]]:
    """(index, whether it starts) of each start and end, in the order of time: at an instruction, starts before ends."""
    ordered = [(each.first, True, index) for index, each in enumerate(lifetimes)]
    ordered += [(each.last + 1, False, index) for index, each in enumerate(lifetimes)]
    ordered.sort()
    return [(index, starts) for _, starts, index in ordered]


def place_by_size(lifetimes: Sequence[Lifetime], neighbors: Sequence[Sequence[int]]) -> list[int]:
    """Large tensors first, each at the lowest offset that is free."""
    offsets = [-1] * len(lifetimes)
    for index in sorted(range(len(lifetimes)), key=lambda index: -lifetimes[index].size):
        placed = (other for other in neighbors[index] if offsets[other] >= 0)
        offset = 0
        for start, end in sorted((offsets[other], offsets[other] + lifetimes[other].size) for other in placed):
            if offset + lifetimes[index].size <= start:
                break
            offset = max(offset, end)
        offsets[index] = offset
    return offsets


def place_by_time(lifetimes: Sequence[Lifetime]) -> list[int]:
    """In the order of time, each in the smallest gap that holds it."""
    offsets = [0] * len(lifetimes)
    gaps = Gaps()
    for index, starts in events(lifetimes):
        if starts:
            offsets[index] = gaps.take(lifetimes[index].size)
        else:
            gaps.give(offsets[index], lifetimes[index].size)
    return offsets


@dataclass
class Gaps:
    """The free ranges of an arena that grows at its end."""

    by_size: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(size, start), ascending."""
    ends: dict[int, int] = field(default_factory=dict[int, int])
    """Start -> end."""
    starts: dict[int, int] = field(default_factory=dict[int, int])
    """End -> start."""
    extent: int = 0

    def take(self, size: int) -> int:
        """Allocate `size` bytes; their start."""
        if size == 0:
            return 0
        at = bisect_left(self.by_size, (size, 0))
        if at < len(self.by_size):
            _, start = self.by_size[at]
            end = self.remove(start)
        else:
            # What is free at the end of the arena need only grow.
            start = self.starts.get(self.extent, self.extent)
            end = self.remove(start) if start < self.extent else start
            self.extent = end = max(end, start + size)
        if start + size < end:
            self.add(start + size, end)
        return start

    def give(self, start: int, size: int) -> None:
        """Free bytes, and join them with free neighbours."""
        if size == 0:
            return
        end = start + size
        if start in self.starts:
            start = self.starts[start]
            self.remove(start)
        if end in self.ends:
            end = self.remove(end)
        self.add(start, end)

    def add(self, start: int, end: int) -> None:
        """Add a gap."""
        self.ends[start], self.starts[end] = end, start
        insort(self.by_size, (end - start, start))

    def remove(self, start: int) -> int:
        """Remove a gap; its end."""
        end = self.ends.pop(start)
        del self.starts[end]
        del self.by_size[bisect_left(self.by_size, (end - start, start))]
        return end


def check_apart(lifetimes: Sequence[Lifetime], offsets: Sequence[int]) -> None:
    """ValueError where tensors that live together share bytes, or one lies where no arena is."""
    taken: list[tuple[int, int]] = []
    for index, starts in events(lifetimes):
        offset, size = offsets[index], lifetimes[index].size
        if not 0 <= offset <= LARGEST_ARENA - size:
            raise ValueError(f"tensor {index} cannot lie at {offset}")
        if size == 0:
            continue
        at = bisect_left(taken, (offset, offset + size))
        if not starts:
            del taken[at]
            continue
        for start, end in taken[max(at - 1, 0) : at + 1]:
            if start < offset + size and offset < end:
                raise ValueError(f"tensor {index} shares bytes with one that lives at the same time")
        taken.insert(at, (offset, offset + size))
