"""What XNNPACK's nodes cost by a profile, in fp32: which kernel runs a node, and how much it multiplies and moves."""

from __future__ import annotations

from math import prod

from xir.cost.profile import CostProfile, Kernel
from xir.ir.shapes import Shape

FLOAT_BYTES = 4

DEPTHWISE_TILES = (3, 4, 9, 25)
"""The numbers of taps that XNNPACK has depthwise kernels for, on every processor: `src/configs/dwconv-config.c`. One of
fewer taps runs on the next of them, with weights of zero."""


def convolution(profile: CostProfile, image: Shape, filter: Shape, result: Shape) -> float:
    """The nanoseconds of a convolution of one group; `filter` is [O, kH, kW, I]."""
    kernel: Kernel = "gemm" if filter[1:3] == (1, 1) else "igemm"
    cost = profile.kernels[kernel]
    work = cost.padded(prod(result[:-1]), filter[0]) * prod(filter[1:])
    return cost.nanoseconds(work, _bytes(image, result), _bytes(filter))


def depthwise(profile: CostProfile, taps: int, image: Shape, result: Shape) -> float:
    """The nanoseconds of a depthwise convolution."""
    tile = next((tile for tile in DEPTHWISE_TILES if tile >= taps), taps)
    return profile.kernels["dwconv"].nanoseconds(prod(result) * tile, _bytes(image, result))


def elementwise(profile: CostProfile, operands: int, result: Shape) -> float:
    """The nanoseconds of an arithmetic node whose operands have the result's shape."""
    return profile.kernels["elementwise"].nanoseconds(prod(result), _bytes(*[result] * (operands + 1)))


def copy(profile: CostProfile, result: Shape) -> float:
    """The nanoseconds of a node that moves what becomes its result."""
    return profile.kernels["copy"].nanoseconds(0, _bytes(result, result))


def _bytes(*shapes: Shape) -> int:
    return FLOAT_BYTES * sum(map(prod, shapes))
