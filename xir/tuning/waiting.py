"""How long two threads wait for each other at the end of a node that they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median

import numpy as np

from xir.device.session import Loaded, Session
from xir.tuning.kept import SKIPPED
from xir.tuning.samples import AdditionSample, ConvolutionSample, DepthwiseSample, Sample, program

KEY = "wait"
"""What kept times call it."""

NODES = 64
"""Of the longer chain; the shorter one has one."""

SHARED: tuple[Sample, ...] = (
    ConvolutionSample(28, 64, (1, 1)),
    ConvolutionSample(14, 128, (1, 1)),
    AdditionSample(28, 96),
    DepthwiseSample(28, 96, (3, 3)),
    DepthwiseSample(14, 256, (3, 3)),
)
"""Nodes of some ten microseconds, split into many equal parts: beyond half of their time, two threads wait."""

LARGE = ConvolutionSample(56, 256, (1, 1))
"""One of some milliseconds, beside which waiting is nothing."""

MOST_SHARED = 0.75
"""What the large node takes on two threads at most, of its time on one, where these are threads of two cores."""

ROUNDS, ROUND_SECONDS, WARMUPS = 15, 0.02, 2


def waiting(connect: Callable[[], Session]) -> float:
    """The nanoseconds for each node, by the clock on the wall. `SKIPPED` for a device that has no two cores to run on.

    DeviceError if the device is lost.
    """
    with connect() as session:
        if len(session.hello.cores) < 2:
            return SKIPPED
        one, two = _by_threads(session, LARGE, 2)
        if two > MOST_SHARED * one:
            return SKIPPED
        found = [_by_threads(session, each, NODES) for each in SHARED]
    return max(median(two - one / 2 for one, two in found), 0.0)


def _by_threads(session: Session, sample: Sample, count: int) -> tuple[float, float]:
    """The nanoseconds of a sample in a chain of so many, on one thread and on two."""
    image = np.random.default_rng(0).standard_normal(sample.shape, dtype=np.float32)
    with ExitStack() as stack:

        def loaded(length: int, threads: int) -> Loaded:
            chain = session.load(program(sample, length), threads)
            stack.callback(session.unload, chain)
            session.give(chain, 0, image)
            session.run(chain, WARMUPS)
            return chain

        chains = [[loaded(length, threads) for length in (1, count)] for threads in (1, 2)]
        best = [[math.inf, math.inf] for _ in chains]
        for _ in range(ROUNDS):
            for times, pair in zip(best, chains, strict=True):
                times[:] = [min(time, _shortest(session, chain)) for time, chain in zip(times, pair, strict=True)]
    one, two = ((longer - shorter) / (count - 1) for shorter, longer in best)
    return one, two


def _shortest(session: Session, chain: Loaded) -> float:
    return session.run(chain, seconds=ROUND_SECONDS, clock="wall").shortest
