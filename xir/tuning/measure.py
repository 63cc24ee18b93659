"""Times of samples, each the shortest of several rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from xir.progress import counted
from xir.runtime import Runtime
from xir.tuning.samples import (
    Addition,
    Attention,
    ByRow,
    Convolution,
    Depthwise,
    Enlargement,
    Function,
    Mean,
    Pooling,
    Sample,
    Softmax,
    Swap,
    Transposition,
    program,
)

FEWEST_REPEATED, MOST_REPEATED = 9, 100
"""Samples of the longer chain; the shorter one has one."""
WEIGHTS = 16 << 20
"""The bytes of weights that the longer chain has at least, within those limits, so that they come from as far away as
those of a network."""
ROUND_SECONDS = 0.02
ROUNDS = 5

SHAPES = ((4, 256), (28, 128), (14, 64), (112, 32), (7, 512), (56, 64), (28, 32), (14, 256), (7, 128), (56, 128),
          (4, 512), (112, 64), (28, 24), (28, 256), (14, 40))  # fmt: skip
"""Height and width, and channels, so mixed that each n-th has small and large ones."""

OTHERS = ((1, 64), (56, 64), (14, 40), (28, 96), (4, 16), (224, 64), (7, 256), (112, 64))
"""The same for what is not multiplied: from 256 bytes, where a node takes what it takes, to 13 MB."""

ATTENTION = ((40, 64, 8), (197, 64, 12), (16, 32, 2), (128, 48, 6), (128, 32, 4), (512, 64, 1))
"""Tokens, channels and heads."""

ROWS = ((1, 1000), (8, 40), (48, 197), (4, 8), (28, 128), (56, 512))
"""Of softmax: the root of their number, and their length."""

VECTORS = (64, 512, 1024, 128, 256, 2048)
"""Inputs and outputs of a matrix's product with a vector."""

LARGEST_PRODUCT = 150_000_000
"""Multiply-adds; larger convolutions take their time and teach nothing new."""


@dataclass(frozen=True)
class Measured:
    """What a sample took."""

    sample: Sample
    nanoseconds: float


def samples(every: int = 1) -> list[Sample]:
    """What is measured: images of 4 to 112 pixels with 32 to 512 channels, as networks have them, or some of those."""
    chosen: list[Sample] = []
    for size, channels in SHAPES[::every]:
        chosen += [Convolution(size, channels, taps) for taps in ((1, 1), (3, 1), (1, 3), (3, 3))]
        chosen += [Depthwise(size, channels, taps) for taps in ((3, 1), (1, 4), (4, 1), (3, 3), (5, 5))]
    chosen += [Convolution(1, size, (1, 1)) for size in VECTORS[::every]]
    for size, channels in OTHERS[::every]:
        chosen += [Addition(size, channels), ByRow(size, channels), Swap(size, channels)]
        chosen += [Function(size, channels, kind) for kind in ("sigmoid", "tanh", "gelu", "exp", "log")]
        chosen += [Mean(size, channels), Enlargement(size, channels)]
        chosen += [Transposition(size, channels)] if size > 1 else []
        chosen += [Pooling(size, channels, "max_pool"), Pooling(size, channels, "average_pool")]
    chosen += [Attention(*each) for each in ATTENTION[::every]]
    chosen += [Softmax(*each) for each in ROWS[::every]]
    return [each for each in chosen if not isinstance(each, Convolution) or products(each) <= LARGEST_PRODUCT]


def products(sample: Convolution) -> int:
    """Its multiply-adds."""
    (work,) = sample.works()
    return work.rows * work.columns * work.inner


def measure(chosen: Sequence[Sample]) -> list[Measured]:
    """Measure samples on one thread, in processor time."""
    return [Measured(each, nanoseconds(each)) for each in counted("Measuring nodes", chosen)]


def nanoseconds(sample: Sample) -> float:
    """What one such sample takes: what a long chain takes more than a short one, for each one more."""
    image = np.random.default_rng(0).standard_normal(sample.shape, dtype=np.float32)
    weights = sum(work.traffic if work.kernel == "gemv" else work.weights for work in sample.works())
    wanted = WEIGHTS // weights if weights else 0
    count = min(max(wanted, FEWEST_REPEATED), MOST_REPEATED)
    runs = [loaded(program(sample, length), image) for length in (1, count)]
    best = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for index, run in enumerate(runs):
            best[index] = min(best[index], shortest(run))
    return max(best[1] - best[0], 1.0) / (count - 1)


def loaded(file: bytes, image: np.ndarray) -> Callable[[], object]:
    """A program that has run twice."""
    method = Runtime.get().load_program(file, threads=1).load_method("forward")
    inputs = [image]
    for _ in range(2):
        method.execute(inputs)
    return lambda: method.execute(inputs)


def shortest(run: Callable[[], object]) -> float:
    """The nanoseconds of the shortest of some runs, which together take about `ROUND_SECONDS`."""
    best, end = float("inf"), time.perf_counter() + ROUND_SECONDS
    while True:
        begin = time.process_time_ns()
        run()
        best = min(best, float(time.process_time_ns() - begin))
        if time.perf_counter() > end:
            return best
