"""What is measured: samples, and how long their chains are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, get_args

from xir.cost.profile import READ_WEIGHTS
from xir.cost.work import Work
from xir.transforms.xnnpack.analysis.node_costs import FLOAT_BYTES
from xir.tuning.samples import (
    GROUP,
    AdditionSample,
    AttentionSample,
    ByRowSample,
    ConversionSample,
    ConvolutionSample,
    DepthwiseSample,
    DynamicConversionSample,
    DynamicProductSample,
    EnlargementSample,
    Function,
    FunctionSample,
    MeanSample,
    PhasesSample,
    PoolingSample,
    Sample,
    SoftmaxSample,
    SwapSample,
    TableSample,
    TranspositionSample,
    Weights,
)

FEWEST_REPEATED, MOST_REPEATED = 9, 256
"""Samples of the longer chain; the shorter one has one."""

Reading = Literal["held", "kept", "streamed"]
"""Whether nodes of a chain multiply by the same weights, or by their own, of which the last cache holds all or not."""

SHARE: dict[Reading, float] = {"held": 0.0, "kept": 0.125, "streamed": 2.0}
"""The weights that the longer chain has at least, within those limits, for each byte of the last cache."""

MOVED = 1 << 20
"""The bytes of the results of the longer chain, within those limits: a node of few elements alone would be lost in what
calls of the runtime take more or less."""
SHAPES = ((4, 256), (28, 128), (14, 64), (112, 32), (7, 512), (56, 64), (28, 32), (14, 256), (7, 128), (56, 128),
          (4, 512), (112, 64), (28, 24), (28, 256), (14, 40))  # fmt: skip
"""Height and width, and channels, so mixed that each n-th has small and large ones."""

SOME = SHAPES[:6]
"""Of these, for kernels on fp16 and of numbers that are quantised at run time: all have to fit into the time."""

NARROW = ((56, 16), (112, 8), (28, 4))
"""The same for convolutions of fewer channels than a kernel computes at once."""

UNEVEN = ((56, 24), (28, 40), (14, 72), (28, 88), (7, 120))
"""The same for plain products whose columns are no whole tiles, for which XNNPACK has another kernel."""

UNEVEN_TAPS: tuple[tuple[type[ConvolutionSample | DepthwiseSample], tuple[int, int]], ...] = (
    (ConvolutionSample, (1, 1)),
    (DepthwiseSample, (3, 3)),
)
"""What tells the columns of tiles on fp16."""

MATRICES = ((3, 512), (2, 1024), (7, 1024), (4, 2048), (7, 2048), (14, 2048))
"""The same for plain products by matrices that caches do not hold."""

DEEP = ((7, 256), (10, 256), (14, 128))
"""The same for convolutions of so many taps that a core's own cache does not hold a tile of their weights."""

DEEP_TAPS = (9, 9)

PLANES = ((224, 3), (56, 12), (28, 3), (112, 4))
"""The same for images of few channels that are transposed."""

WIDE = ((14, 576), (7, 960))
"""The same for depthwise convolutions whose filters the first cache does not hold."""

OTHERS = ((1, 64), (56, 64), (14, 40), (28, 96), (4, 16), (224, 64), (7, 256), (112, 64), (448, 32), (448, 64))
"""The same for what is not multiplied: from 256 bytes, where a node takes what it takes, to 51 MB."""

INTEGER_TAPS = ((3, 1), (3, 3), (5, 5))
"""Of depthwise convolutions on integers: as many as their kernels have."""

FUNCTIONS: tuple[Function, ...] = get_args(Function)
WEIGHTS: tuple[Weights, ...] = get_args(Weights)

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
    apart: int = 0
    """The bytes that were moved between two reads of the same weights."""

    def works(self) -> list[Work]:
        """What the sample's nodes did."""
        return [replace(work, apart=self.apart) for work in self.sample.works()]


def samples(every: int = 1) -> list[Sample]:
    """What is measured: images of 4 to 112 pixels with 32 to 512 channels, as networks have them, or some of those."""
    chosen = [*float_samples(every), *integer_samples(every), *half_samples(every), *dynamic_samples(every)]
    return [each for each in chosen if not isinstance(each, ConvolutionSample) or products(each) <= LARGEST_PRODUCT]


def by_coverage(every: int = 1) -> list[Sample]:
    """The same, so ordered that the first ones are of all sizes already, and others lie between these."""
    steps = [step for step in (4, 2, 1) if step > every] if every in (1, 2) else []
    return list(dict.fromkeys(each for step in (*steps, every) for each in samples(step)))


def fewest(every: int = 1) -> list[Sample]:
    """Those without which there is too little to fit."""
    return samples(max(every, 4 if every in (1, 2, 4) else 3))


def float_samples(every: int) -> Iterator[Sample]:
    """Those on fp32 numbers."""
    for size, channels in SHAPES[::every]:
        yield from (ConvolutionSample(size, channels, taps) for taps in ((1, 1), (3, 1), (1, 3), (3, 3)))
        yield from (DepthwiseSample(size, channels, taps) for taps in ((3, 1), (1, 4), (4, 1), (3, 3), (5, 5)))
        yield from (PhasesSample(size, channels, *each) for each in PHASES if size % max(each[1]) == 0)
    for size, channels in NARROW[::every]:
        yield from (ConvolutionSample(size, channels, taps) for taps in ((3, 1), (3, 3)))
    for size, channels in LARGE[::every]:
        yield from (ConvolutionSample(size, channels, taps) for taps in ((1, 1), (3, 1)))
        yield from (DepthwiseSample(size, channels, taps) for taps in ((4, 1), (3, 3)))
        yield from (PhasesSample(size, channels, *each) for each in PHASES)
    for size, channels in (*UNEVEN[::every], *MATRICES[::every]):
        yield ConvolutionSample(size, channels, (1, 1))
    for size, channels in DEEP[::every]:
        yield ConvolutionSample(size, channels, DEEP_TAPS)
    for size, channels in PLANES[::every]:
        yield from (TranspositionSample(size, channels, planes=planes) for planes in (False, True))
    for size, channels in WIDE[::every]:
        yield from (DepthwiseSample(size, channels, taps) for taps in ((3, 3), (5, 5)))
    yield from (ConvolutionSample(1, size, (1, 1)) for size in VECTORS[::every])
    for size, channels in OTHERS[::every]:
        yield from (
            kind(size, channels) for kind in (AdditionSample, ByRowSample, SwapSample, MeanSample, EnlargementSample)
        )
        yield from (FunctionSample(size, channels, kind) for kind in FUNCTIONS)
        yield from (PoolingSample(size, channels, kind) for kind in ("max_pool", "average_pool"))
        if size > 1:
            yield TranspositionSample(size, channels)
    yield from (AttentionSample(*each) for each in ATTENTION[::every])
    yield from (SoftmaxSample(*each) for each in ROWS[::every])


def integer_samples(every: int) -> Iterator[Sample]:
    """Those on 8-bit integers."""
    for size, channels in SHAPES[::every]:
        yield from (ConvolutionSample(size, channels, taps, numbers="i8") for taps in ((1, 1), (3, 3)))
        yield from (DepthwiseSample(size, channels, taps, numbers="i8") for taps in INTEGER_TAPS)
        yield from (PhasesSample(size, channels, taps, (2, 2), numbers="i8") for taps in INTEGER_TAPS if size % 2 == 0)
    for size, channels in NARROW[::every]:
        yield ConvolutionSample(size, channels, (3, 3), numbers="i8")
    for size, channels in LARGE[::every]:
        yield ConvolutionSample(size, channels, (1, 1), numbers="i8")
        yield DepthwiseSample(size, channels, (3, 3), numbers="i8")
        yield PhasesSample(size, channels, (3, 3), (2, 2), numbers="i8")
    for size, channels in WIDE[::every]:
        yield from (DepthwiseSample(size, channels, taps, numbers="i8") for taps in ((3, 3), (5, 5)))
    yield from (ConvolutionSample(1, size, (1, 1), numbers="i8") for size in VECTORS[::every])
    for size, channels in OTHERS[::every]:
        yield ConversionSample(size, channels)
        yield from (kind(size, channels, numbers="i8") for kind in (AdditionSample, TableSample, MeanSample))
        yield PoolingSample(size, channels, "max_pool", numbers="i8")
        if size > 1:
            # Products by a single number in a row would be one table.
            yield ByRowSample(size, channels, numbers="i8")


def half_samples(every: int) -> Iterator[Sample]:
    """Those on fp16."""
    for size, channels in SOME[::every]:
        yield from (ConvolutionSample(size, channels, taps, numbers="f16") for taps in ((1, 1), (3, 3)))
        yield from (DepthwiseSample(size, channels, taps, numbers="f16") for taps in ((3, 1), (3, 3), (5, 5)))
        yield from (
            PhasesSample(size, channels, taps, (2, 2), numbers="f16") for taps in ((3, 3), (5, 5)) if size % 2 == 0
        )
    for size, channels in UNEVEN[::every]:
        yield from (kind(size, channels, taps, numbers="f16") for kind, taps in UNEVEN_TAPS)
    yield from (ConvolutionSample(1, size, (1, 1), numbers="f16") for size in VECTORS[::every])
    for size, channels in LARGE[::every]:
        yield ConvolutionSample(size, channels, (1, 1), numbers="f16")
        yield DepthwiseSample(size, channels, (3, 3), numbers="f16")
        yield PhasesSample(size, channels, (3, 3), (2, 2), numbers="f16")
    yield from (DepthwiseSample(*each, (5, 5), numbers="f16") for each in WIDE[::every])
    for size, channels in OTHERS[::every]:
        yield ConversionSample(size, channels, "f16")
        yield from (kind(size, channels, numbers="f16") for kind in (AdditionSample, ByRowSample, MeanSample))
        yield from (FunctionSample(size, channels, kind, numbers="f16") for kind in FUNCTIONS)
        yield from (PoolingSample(size, channels, kind, numbers="f16") for kind in ("max_pool", "average_pool"))
        yield EnlargementSample(size, channels, numbers="f16")
        if size > 1:
            yield TranspositionSample(size, channels, numbers="f16")
    yield from (AttentionSample(*each, numbers="f16") for each in ATTENTION[::every])
    yield from (SoftmaxSample(*each, numbers="f16") for each in ROWS[::every])


def dynamic_samples(every: int) -> Iterator[Sample]:
    """Those of numbers that are quantised at run time."""
    grouped = [shape for shape in (*SOME, *MATRICES) if shape[1] % GROUP == 0]
    for size, channels in grouped[::every]:
        yield from (DynamicProductSample(size, channels, bits) for bits in WEIGHTS)
    yield from (DynamicProductSample(*each, "qc8w") for each in LARGE[::every])
    yield from (DynamicProductSample(size, channels, "qc8w", (3, 3)) for size, channels in SOME[::every])
    yield from (DynamicProductSample(1, size, bits) for size in VECTORS[::every] for bits in WEIGHTS)
    yield from (DynamicConversionSample(size, channels) for size, channels in OTHERS[::every])


def products(sample: ConvolutionSample) -> int:
    """Its multiply-adds."""
    (work,) = sample.works()
    return work.rows * work.columns * work.inner


def readings(chosen: Sequence[Sample]) -> list[tuple[Sample, Reading]]:
    """Each sample, and once more for each way to read weights if it has any."""
    ways: tuple[Reading, ...] = ("kept", "streamed", "held")
    return [(each, reading) for each in chosen for reading in ways[: 3 if weights_of(each) else 1]]


def apart(sample: Sample, reading: Reading, repeated: int) -> int:
    """The bytes that a chain of so many samples moves between two reads of the same weights."""
    moved = sum(work.traffic + work.weights for work in sample.works())
    return moved if reading == "held" else repeated * moved


def weights_of(sample: Sample) -> int:
    """The bytes of constants that it multiplies by."""
    return sum(work.weights for work in sample.works() if work.kernel in READ_WEIGHTS)


def repetitions(sample: Sample, weights: int) -> int:
    """How many of such samples a chain has, so that there are so many bytes of weights, within the limits."""
    each = weights_of(sample)
    wanted = max(-(-weights // each) if each else 0, MOVED // (FLOAT_BYTES * prod(sample.shape)))
    return min(max(wanted, FEWEST_REPEATED), MOST_REPEATED)
