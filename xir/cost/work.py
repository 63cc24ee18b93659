"""What a node does that takes time: a product of matrices or a count, and the bytes that it moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

FloatKernel = Literal[
    "gemm",
    "gemv",
    "igemm",
    "bmm",
    "elementwise",
    "sigmoid",
    "tanh",
    "gelu",
    "exp",
    "log",
    "copy",
    "dwconv",
    "dwconv_strided",
    "transpose",
    "softmax",
    "reduce",
    "max_pool",
    "average_pool",
    "resize",
]
"""The kernels of XNNPACK's that every profile knows, in fp32; docs/cost_profiles.md says which nodes they run."""

IntegerKernel = Literal[
    "qs8_convert",
    "qs8_dwconv",
    "qs8_dwconv_strided",
    "qs8_gemm",
    "qs8_gemv",
    "qs8_igemm",
    "qs8_elementwise",
    "qs8_table",
    "qs8_reduce",
    "qs8_max_pool",
]
"""Those on signed 8-bit integers, which a profile may know."""

Kernel = FloatKernel | IntegerKernel

FLOAT_KERNELS: tuple[FloatKernel, ...] = get_args(FloatKernel)
INTEGER_KERNELS: tuple[IntegerKernel, ...] = get_args(IntegerKernel)
KERNELS: tuple[Kernel, ...] = (*FLOAT_KERNELS, *INTEGER_KERNELS)
"""All of them, each behind those that are needed to measure it."""


@dataclass(frozen=True)
class Work:
    """What one node has to do. Products are `batches` of `rows` by `columns`, with sums of `inner` terms each.

    Depthwise convolutions have as many rows as pixels, and as many columns as channels.
    """

    kernel: Kernel
    inner: int = 0
    """Multiply-adds for each element of a product; of other kernels, whatever they count: rows, runs or windows."""
    rows: int = 1
    columns: int = 1
    batches: int = 1
    traffic: int = 0
    """The bytes that are read and written, but for weights."""
    weights: int = 0
    """The bytes of constant weights, or of what a product packs first."""
    apart: int | None = None
    """The bytes that the program moves between two reads of these weights; None where only the program knows."""
    reread: int = 0
    """The bytes that a depthwise convolution reads again for each pixel, its filter and the window under it, if the
    first cache holds less."""
    since: int = 0
    """The bytes that the program has moved since it last touched what is read here; the node itself does not count."""
