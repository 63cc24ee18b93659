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

HalfKernel = Literal[
    "f16_convert",
    "f16_gemm",
    "f16_gemv",
    "f16_igemm",
    "f16_bmm",
    "f16_elementwise",
    "f16_sigmoid",
    "f16_tanh",
    "f16_gelu",
    "f16_exp",
    "f16_log",
    "f16_dwconv",
    "f16_dwconv_strided",
    "f16_transpose",
    "f16_softmax",
    "f16_reduce",
    "f16_max_pool",
    "f16_average_pool",
    "f16_resize",
]
"""Those on fp16, likewise. Where the processor has no such kernel, XNNPACK computes in fp32 between conversions."""

DynamicKernel = Literal[
    "qc8w_gemm",
    "qc8w_gemv",
    "qc8w_igemm",
    "qc4w_gemm",
    "qc4w_gemv",
    "qb4w_gemm",
    "qb4w_gemv",
    "qd8_convert",
]
"""Those of fp32 numbers that are quantised at run time, likewise: products by weights in 8 or 4 bits with scales by
channel, or in 4 bits with scales by groups; and that conversion, which is measured with a product behind it."""

Kernel = FloatKernel | IntegerKernel | HalfKernel | DynamicKernel

FLOAT_KERNELS: tuple[FloatKernel, ...] = get_args(FloatKernel)
INTEGER_KERNELS: tuple[IntegerKernel, ...] = get_args(IntegerKernel)
HALF_KERNELS: tuple[HalfKernel, ...] = get_args(HalfKernel)
DYNAMIC_KERNELS: tuple[DynamicKernel, ...] = get_args(DynamicKernel)
KERNELS: tuple[Kernel, ...] = (*FLOAT_KERNELS, *INTEGER_KERNELS, *HALF_KERNELS, *DYNAMIC_KERNELS)
"""All of them, each behind those that are needed to measure it."""


def computes(kernel: Kernel) -> str:
    """What a kernel computes, whatever its numbers: `gemm` of `qs8_gemm`."""
    for numbers in ("qs8_", "f16_", "qd8_", "qc8w_", "qc4w_", "qb4w_"):
        if kernel.startswith(numbers):
            return kernel.removeprefix(numbers)
    return kernel


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
    row_bytes: int = 0
    """The bytes of a row of the left matrix, where the right one is constant, as XNNPACK estimates them when it decides
    on blocks of columns."""
    column_bytes: int = 0
    """Those of a column of the constant matrix."""
    since: int = 0
    """The bytes that the program has moved since it last touched what is read here; the node itself does not count."""
