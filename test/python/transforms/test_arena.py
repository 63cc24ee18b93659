"""What lives together shares no byte, arenas are small, and the work does not grow with how many live together."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest

from xir.transforms.pte.memory import placing
from xir.transforms.pte.memory.placing import Lifetime, extent, living_together, place, place_by_size, place_by_time


def lifetimes(count: int, longest: int, seed: int = 0) -> list[Lifetime]:
    """`count` tensors, one starting at each instruction, each living up to `longest` further ones."""
    rng = random.Random(seed)
    return [Lifetime(16 * rng.randint(0, 50), i, i + rng.randint(0, longest)) for i in range(count)]


def least(planned: Sequence[Lifetime]) -> int:
    """The bytes that live at one time at most: no arena can be smaller."""
    changes = sorted([(p.first, p.size) for p in planned] + [(p.last + 1, -p.size) for p in planned])
    alive = most = 0
    for _, change in changes:
        alive += change
        most = max(most, alive)
    return most


def by_size(planned: Sequence[Lifetime]) -> list[int]:
    neighbors = living_together(planned)
    assert neighbors is not None
    return place_by_size(planned, neighbors)


@pytest.mark.parametrize("way", [by_size, place_by_time, place])
@pytest.mark.parametrize("longest", [0, 3, 50, 400])
@pytest.mark.parametrize("seed", range(5))
def test_what_lives_together_is_apart(way: Callable[[Sequence[Lifetime]], list[int]], longest: int, seed: int) -> None:
    planned = lifetimes(120, longest, seed)
    offsets = way(planned)
    for time in range(max(each.last for each in planned) + 1):
        alive = sorted(
            (offset, offset + each.size)
            for offset, each in zip(offsets, planned, strict=True)
            if each.size and each.first <= time <= each.last
        )
        assert all(before[1] <= after[0] for before, after in pairwise(alive))
    assert least(planned) <= extent(planned, offsets) <= 1.5 * least(planned)


def test_equal_tensors_waste_nothing() -> None:
    planned = [Lifetime(64, i, i + i % 7) for i in range(200)]
    assert extent(planned, place_by_time(planned)) == least(planned)


def test_the_smaller_arena_counts() -> None:
    for seed in range(20):
        planned = lifetimes(60, 10, seed)
        ways = (extent(planned, way(planned)) for way in (by_size, place_by_time))
        assert extent(planned, place(planned)) == min(ways)


def steps(work: Callable[[], object]) -> int:
    """How many lines of the module's code run."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace if frame.f_code.co_filename == placing.__file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("longest", [5, 10**6])
def test_twice_the_tensors_are_twice_the_steps(longest: int) -> None:
    small, large = lifetimes(2000, longest), lifetimes(4000, longest)
    assert steps(lambda: place_by_time(large)) < 2.2 * steps(lambda: place_by_time(small))


def test_too_many_pairs_are_not_looked_at() -> None:
    planned = lifetimes(2000, 10**6)
    assert living_together(planned, limit=10**4) is None
    assert steps(lambda: living_together(planned, limit=10**4)) < 50_000
