"""Numbers that XNNPACK's kernels compute wrong, and that files do not avoid.

To avoid them, one or more additional nodes would be needed before such a node. Every program would pay for these nodes,
and networks hardly ever compute such numbers. Therefore, this table lists where the numbers begin, and the results;
bf16 is computed in fp32. The kernels differ by processor: those without AVX-512 are other x86 ones, and Arm. The page
of PyTorch's operator database counts the samples that meet them. A test computes a number on either side of each limit
of its processor. It fails once a library computes them right; then the entry must be removed.

Three facts of such numbers are no limit of one node. On processors without fused multiply-add, sines and cosines lose
digits from angles of 7 · 10^5 on, where they are 0.02 off. Convolutions of few channels read a row's next pixels beside
weights of 0, so an infinity or NaN in the image makes NaN of up to three pixels more than it reaches. And of a NaN and
a number, minimum and maximum are either, by processor: a NaN that a constant mask replaces may stay, but for those of a
softmax, which `fill-hidden-rows` keeps from arising, and a NaN that it keeps may become an infinity.

Logarithms of infinity and NaN are numbers on processors without AVX-512, which would hide that a sum has overflowed.
The rules of `edge.log` and of what is composed of logarithms add nodes that keep both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import Literal

Processors = Literal["all", "with AVX-512", "without AVX-512"]


@dataclass(frozen=True)
class KernelLimit:
    """The wrong results of a node for some numbers."""

    node: str
    """As the graph says it, such as "unary square_root"."""
    dtype: str
    place: str
    """The folder of the kernels in XNNPACK."""
    numbers: str
    """Which numbers are computed wrong."""
    gives: str
    wrong: float
    """One of them."""
    right: float
    """The next that is computed right, or one near it."""
    processors: Processors = "all"

    @property
    def graph(self) -> str:
        """A function `forward` that computes the node of two numbers."""
        tensor = f"tensor<2x{self.dtype}>"
        return f"""
func.func @forward(%x: {tensor}) -> {tensor} {{
  %0 = xnnpack.subgraph(%x) : ({tensor}) -> {tensor} {{
  ^bb0(%a: {tensor}):
    %z = xnnpack.{self.node} %a : {tensor} -> {tensor}
    xnnpack.yield %z : {tensor}
  }}
  func.return %0 : {tensor}
}}
"""


ROOT_OF_RECIPROCAL = "1.5 times as much: the square of the estimate of 1/√x is denormal, and taken for 0"
OLDER: Processors = "without AVX-512"
LARGE = 1.875 * 2.0**127

KERNEL_LIMITS: tuple[KernelLimit, ...] = (
    KernelLimit("unary square_root", "f32", "src/f32-vsqrt", "from 2^126 on", ROOT_OF_RECIPROCAL, 2.0**127, 2.0**125),
    KernelLimit("unary square_root", "f32", "src/f32-vsqrt", "∞", "NaN", inf, 1.0),
    KernelLimit("unary square_root", "f16", "src/f16-vsqrt", "below 0", "-0 instead of NaN", -4.0, 4.0),
    KernelLimit(
        "unary reciprocal_square_root",
        "f32",
        "src/f32-vrsqrt",
        "from 2^126 on",
        ROOT_OF_RECIPROCAL,
        2.0**127,
        2.0**125,
    ),
    KernelLimit("unary reciprocal_square_root", "f32", "src/f32-vrsqrt", "0", "NaN instead of ∞", 0.0, 1.0),
    KernelLimit("unary log", "f32", "src/f32-vlog", "from √2 · 2^127 on", "∞", LARGE, 2.0**127, "with AVX-512"),
    KernelLimit("unary log", "f32", "src/f32-vlog", "from √2 · 2^127 on", "88.376", LARGE, 2.0**127, OLDER),
    KernelLimit("unary log", "f32", "src/f32-vlog", "∞, where no rule keeps it", "88.376", inf, 1.0, OLDER),
    KernelLimit("unary log", "f32", "src/f32-vlog", "NaN, where no rule keeps it", "88.78", nan, 1.0, OLDER),
    KernelLimit(
        "unary sigmoid",
        "f32",
        "src/f32-vsigmoid",
        "most of magnitudes from 2^88 to 2^127",
        "NaN",
        -(2.0**126),
        -(2.0**87),
        "with AVX-512",
    ),
    KernelLimit("unary exp", "f32", "src/f32-vexp", "NaN", "0", nan, 1.0),
)
