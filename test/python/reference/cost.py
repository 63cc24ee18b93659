"""Whether work grows with its input, by ratios within one run: machines differ, growth does not."""

from __future__ import annotations

import time
from collections.abc import Callable

NOISE = 0.002
"""Processor seconds below which a measurement says nothing."""


def assert_linear(prepare: Callable[[int], Callable[[], object]], short: int, long: int) -> None:
    """`prepare(n)` gives the work on an input of size n; its processor time must grow no faster than n, thrice over.

    With `long` at least eight times `short`, quadratic work is caught.
    """
    times = {size: min(seconds(prepare(size)) for _ in range(2)) for size in (short, long)}
    assert times[long] < 3 * (long / short) * max(times[short], NOISE)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start
