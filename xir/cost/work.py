"""What a node does that takes time: a product of matrices or a count, and the bytes that it moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kernel = Literal[
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
"""The kernels of XNNPACK's that a profile knows, in fp32; docs/cost_profiles.md says which nodes they run."""

KERNELS: tuple[Kernel, ...] = get_args(Kernel)


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
    since: int = 0
    """The bytes that the program has moved since it last touched what is read here; the node itself does not count."""
