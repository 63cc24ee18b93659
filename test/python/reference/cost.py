"""Whether work grows with its input, by ratios within one run: machines differ, growth does not."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

NOISE = 0.002
"""Processor seconds below which a measurement says nothing."""

ATTEMPTS = 6
"""A busy machine slows down some measurements of one work, quadratic work is slow in all of them."""


def assert_linear(prepare: Callable[[int], Callable[[], object]], short: int, long: int) -> None:
    """`prepare(n)` gives the work on an input of size n; its processor time must grow no faster than n, thrice over.

    With `long` at least eight times `short`, quadratic work is caught. The least of several measurements counts.
    """
    limit = 3 * (long / short) * max(min(seconds(prepare(short)) for _ in range(2)), NOISE)
    taken: list[float] = []
    while not taken or (min(taken) >= limit and len(taken) < ATTEMPTS):
        taken.append(seconds(prepare(long)))
    assert min(taken) < limit, f"{taken} seconds, at most {limit} expected"


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one run in this thread, without collecting the garbage of whoever ran before."""
    gc.disable()
    try:
        start = time.thread_time()
        work()
        return time.thread_time() - start
    finally:
        gc.enable()
