"""Times of samples, each the shortest of several rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from xir.cost.profile import READ_WEIGHTS
from xir.progress import counted
from xir.runtime import Runtime
from xir.transforms.xnnpack._node_costs import FLOAT_BYTES
from xir.tuning.samples import (
    Addition,
    Attention,
    ByRow,
    Conversion,
    Convolution,
    Depthwise,
    Enlargement,
    Function,
    Mean,
    Phases,
    Pooling,
    Sample,
    Softmax,
    Swap,
    Table,
    Transposition,
    program,
)

FEWEST_REPEATED, MOST_REPEATED = 9, 256
"""Samples of the longer chain; the shorter one has one."""
KEPT, STREAMED = 0.25, 2.0
"""The weights that the longer chain has at least, within those limits, for each byte of the last cache: like those of a
network that it holds, and of one that it does not."""
MOVED = 1 << 20
"""The bytes of the results of the longer chain, within those limits: a node of few elements alone would be lost in what
calls of the runtime take more or less."""
ROUND_SECONDS = 0.02
ROUNDS = 5

SHAPES = ((4, 256), (28, 128), (14, 64), (112, 32), (7, 512), (56, 64), (28, 32), (14, 256), (7, 128), (56, 128),
          (4, 512), (112, 64), (28, 24), (28, 256), (14, 40))  # fmt: skip
"""Height and width, and channels, so mixed that each n-th has small and large ones."""

NARROW = ((56, 16), (112, 8), (28, 4))
"""The same for convolutions of fewer channels than a kernel computes at once."""

WIDE = ((14, 576), (7, 960))
"""The same for depthwise convolutions whose filters the first cache does not hold."""

OTHERS = ((1, 64), (56, 64), (14, 40), (28, 96), (4, 16), (224, 64), (7, 256), (112, 64), (448, 32), (448, 64))
"""The same for what is not multiplied: from 256 bytes, where a node takes what it takes, to 51 MB."""

INTEGER_TAPS = ((3, 1), (3, 3), (5, 5))
"""Of depthwise convolutions on integers: as many as their kernels have."""

LARGE = ((224, 64), (448, 32), (448, 64))
"""The same for kernels that multiply, whose images leave the last cache."""

PHASES = (((4, 1), (4, 1)), ((1, 4), (1, 4)), ((1, 3), (1, 4), (1, 2)), ((1, 2), (1, 2), (1, 2)), ((3, 3), (2, 2)))
"""Taps, strides and dilations: of the transforms of F(4x4) and F(2x2), and of networks that halve an image."""

ATTENTION = ((40, 64, 8), (197, 64, 12), (16, 32, 2), (128, 48, 6), (128, 32, 4), (512, 64, 1))
"""Tokens, channels and heads."""

ROWS = ((1, 1000), (8, 40), (48, 197), (4, 8), (28, 128), (56, 512))
"""Of softmax: the root of their number, and their length."""

VECTORS = (64, 512, 1024, 128, 256, 2048)
"""Inputs and outputs of a matrix's product with a vector."""

LARGEST_PRODUCT = 1_000_000_000
"""Multiply-adds; larger convolutions take their time and teach nothing new."""


@dataclass(frozen=True)
class Measured:
    """What a sample took."""

    sample: Sample
    nanoseconds: float
    streamed: bool = False
    """With more weights in the chain than the last cache holds."""


def samples(every: int = 1) -> list[Sample]:
    """What is measured: images of 4 to 112 pixels with 32 to 512 channels, as networks have them, or some of those."""
    chosen = [*float_samples(every), *integer_samples(every)]
    return [each for each in chosen if not isinstance(each, Convolution) or products(each) <= LARGEST_PRODUCT]


def float_samples(every: int) -> Iterator[Sample]:
    """Those on fp32 numbers."""
    for size, channels in SHAPES[::every]:
        yield from (Convolution(size, channels, taps) for taps in ((1, 1), (3, 1), (1, 3), (3, 3)))
        yield from (Depthwise(size, channels, taps) for taps in ((3, 1), (1, 4), (4, 1), (3, 3), (5, 5)))
        yield from (Phases(size, channels, *each) for each in PHASES if size % max(each[1]) == 0)
    for size, channels in NARROW[::every]:
        yield from (Convolution(size, channels, taps) for taps in ((3, 1), (3, 3)))
    for size, channels in LARGE[::every]:
        yield from (Convolution(size, channels, taps) for taps in ((1, 1), (3, 1)))
        yield from (Depthwise(size, channels, taps) for taps in ((4, 1), (3, 3)))
        yield from (Phases(size, channels, *each) for each in PHASES)
    for size, channels in WIDE[::every]:
        yield from (Depthwise(size, channels, taps) for taps in ((3, 3), (5, 5)))
    yield from (Convolution(1, size, (1, 1)) for size in VECTORS[::every])
    for size, channels in OTHERS[::every]:
        yield from (kind(size, channels) for kind in (Addition, ByRow, Swap, Mean, Enlargement))
        yield from (Function(size, channels, kind) for kind in ("sigmoid", "tanh", "gelu", "exp", "log"))
        yield from (Pooling(size, channels, kind) for kind in ("max_pool", "average_pool"))
        if size > 1:
            yield Transposition(size, channels)
    yield from (Attention(*each) for each in ATTENTION[::every])
    yield from (Softmax(*each) for each in ROWS[::every])


def integer_samples(every: int) -> Iterator[Sample]:
    """Those on 8-bit integers."""
    for size, channels in SHAPES[::every]:
        yield from (Convolution(size, channels, taps, quantised=True) for taps in ((1, 1), (3, 3)))
        yield from (Depthwise(size, channels, taps, quantised=True) for taps in INTEGER_TAPS)
        yield from (Phases(size, channels, taps, (2, 2), quantised=True) for taps in INTEGER_TAPS if size % 2 == 0)
    for size, channels in NARROW[::every]:
        yield Convolution(size, channels, (3, 3), quantised=True)
    for size, channels in LARGE[::every]:
        yield Convolution(size, channels, (1, 1), quantised=True)
        yield Depthwise(size, channels, (3, 3), quantised=True)
        yield Phases(size, channels, (3, 3), (2, 2), quantised=True)
    for size, channels in WIDE[::every]:
        yield from (Depthwise(size, channels, taps, quantised=True) for taps in ((3, 3), (5, 5)))
    yield from (Convolution(1, size, (1, 1), quantised=True) for size in VECTORS[::every])
    for size, channels in OTHERS[::every]:
        yield Conversion(size, channels)
        yield from (kind(size, channels, quantised=True) for kind in (Addition, Table, Mean))
        yield Pooling(size, channels, "max_pool", quantised=True)
        if size > 1:
            # Products by a single number in a row would be one table.
            yield ByRow(size, channels, quantised=True)


def products(sample: Convolution) -> int:
    """Its multiply-adds."""
    (work,) = sample.works()
    return work.rows * work.columns * work.inner


def measure(chosen: Sequence[Sample], last_cache: int) -> list[Measured]:
    """Measure samples on one thread, in processor time; those with constant weights twice."""
    measured: list[Measured] = []
    for each, streamed in counted("Measuring nodes", kept_and_streamed(chosen)):
        repeated = repetitions(each, int(last_cache * (STREAMED if streamed else KEPT)))
        if not streamed or repeated * weights_of(each) > last_cache:
            measured.append(Measured(each, nanoseconds(each, repeated), streamed))
    return measured


def kept_and_streamed(chosen: Sequence[Sample]) -> list[tuple[Sample, bool]]:
    """Each sample, and once more with weights from the memory if it has any."""
    return [(each, streamed) for each in chosen for streamed in (False, True)[: 1 + (weights_of(each) > 0)]]


def weights_of(sample: Sample) -> int:
    """The bytes of constants that it multiplies by."""
    return sum(work.weights for work in sample.works() if work.kernel in READ_WEIGHTS)


def repetitions(sample: Sample, weights: int) -> int:
    """How many of such samples a chain has, so that there are so many bytes of weights, within the limits."""
    each = weights_of(sample)
    wanted = max(-(-weights // each) if each else 0, MOVED // (FLOAT_BYTES * prod(sample.shape)))
    return min(max(wanted, FEWEST_REPEATED), MOST_REPEATED)


def nanoseconds(sample: Sample, count: int) -> float:
    """What one such sample takes: what a chain of so many takes more than one alone, for each one more."""
    image = np.random.default_rng(0).standard_normal(sample.shape, dtype=np.float32)
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
