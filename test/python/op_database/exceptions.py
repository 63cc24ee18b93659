"""The differences from eager that stay, each with its reason and how far it goes: a table of the page.

An entry that no sample needs any longer is a fault of the run, as is an example that is right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from op_database.ways import Way, compare, compare_types
from xir.cost.native import this_machine
from xir.transforms.xnnpack.known_faults.kernels import Processors

FLOATS = ("fp32", "bf16", "fp64", "fp16", "complex64")
WIDE = ("fp32", "bf16", "complex64")
"""The types whose largest number is fp32's."""


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FOURIER = tuple(f"fft.{kind}{count}" for kind in words("fft ifft rfft irfft hfft ihfft") for count in ("", "2", "n"))


@dataclass(frozen=True)
class Listed:
    """A difference that some operators have in some types, on inputs that are filled in one way."""

    name: str
    operators: tuple[str, ...]
    types: tuple[str, ...]
    reason: str
    most: float | None
    """How far a number may be off, relative to itself; None if only infinities and NaN are other ones."""
    example: tuple[str, str, int]
    """An operator, a type and the index of a sample that needs the entry."""
    way: str = "limit"
    """How the inputs are filled."""
    processors: Processors = "all"
    """Those whose kernels differ so."""

    def allows(self, results: list[Any], way: Way) -> bool:
        """Whether results are off by no more than this says."""
        if self.most is None:
            return not compare(results, way, "both are finite")
        if compare_types(results, way.expected):
            return False
        return self.most == math.inf or all(map(self.is_near, results, way.expected))

    def is_near(self, got: Any, want: Any) -> bool:
        """Whether each finite number is within `most` of eager's, and some roundings."""
        got, want = torch.as_tensor(got), torch.as_tensor(want)
        if not want.is_floating_point():
            return torch.equal(got, want)
        assert self.most is not None
        allowed = (self.most + 64 * torch.finfo(want.dtype).eps) * want.double().abs()
        known = got.isfinite() & want.isfinite()
        return bool(((got.double() - want.double()).abs() <= allowed)[known].all())


LISTED: tuple[Listed, ...] = (
    Listed(
        name="roots beyond 2^126",
        operators=words(
            """nn.functional.pairwise_distance nn.functional.triplet_margin_loss
        nn.functional.triplet_margin_with_distance_loss norm rsqrt sqrt"""
        ),
        types=(*WIDE, "int64"),
        reason="XNNPACK's square root of a number above 2^126 is 1.5 times too large, as is its reciprocal: the square "
        "of the reciprocal is denormal, and taken for 0 in Newton's step",
        most=1.25,
        example=("sqrt", "fp32", 0),
    ),
    Listed(
        name="reciprocals beyond 2^126",
        operators=("nn.functional.normalize",),
        types=WIDE,
        reason="the reciprocal of a number above 2^126 is denormal, and XNNPACK takes it for 0: products with it are 0",
        most=1.0,
        example=("nn.functional.normalize", "fp32", 2),
    ),
    Listed(
        name="powers of numbers near the limit",
        operators=("linalg.vector_norm",),
        types=("fp32",),
        reason="a power in a delegate is the exponential of a product with a logarithm, whose rounding counts as often "
        "as the product is large: 88 times at most",
        most=88 * 2.0**-23,
        example=("linalg.vector_norm", "fp32", 149),
    ),
    Listed(
        name="logarithms near the limit",
        operators=("log", "log10", "log2"),
        types=("fp32",),
        reason="XNNPACK multiplies by √2 first, which overflows from √2 · 2^127 on: the logarithm is 88.376 from there",
        most=0.004,
        example=("log", "fp32", 0),
        processors="without AVX-512",
    ),
    Listed(
        name="norms of a negative order",
        operators=("linalg.norm", "norm"),
        types=WIDE,
        reason="they are made of such reciprocals: in a delegate the largest numbers do not count",
        most=math.inf,
        example=("norm", "fp32", 10),
    ),
    Listed(
        name="sums beyond the largest number",
        operators=FOURIER
        + words(
            """nn.functional.avg_pool3d nn.functional.adaptive_avg_pool3d nn.functional.interpolate.area
        nn.functional.interpolate.bicubic prod stft"""
        ),
        types=FLOATS,
        reason="a part of the sum, or of the product, is beyond the type's largest number, which the parts of eager's "
        "order are not: the result is infinite or NaN",
        most=None,
        example=("fft.irfft", "fp32", 0),
    ),
    Listed(
        name="squares beyond the largest number",
        operators=words(
            """native_batch_norm native_group_norm native_layer_norm nn.functional.group_norm
        nn.functional.instance_norm"""
        ),
        types=(*WIDE, "fp64"),
        reason="squares, higher powers and sums of all numbers are computed in fp32 or the type itself, where ATen "
        "accumulates in fp64 or goes on from mean to mean: they are infinite, and XNNPACK's square root of ∞ is NaN",
        most=None,
        example=("native_batch_norm", "fp32", 0),
    ),
    Listed(
        name="norms that are not bounded",
        operators=("renorm",),
        types=("fp32", "bf16"),
        reason="as squares: the norm is NaN, which is not above the bound, so that the numbers stay as they are",
        most=math.inf,
        example=("renorm", "fp32", 0),
    ),
    Listed(
        name="sines of angles beyond 10^8",
        operators=("polar", "sin", "tan"),
        types=("fp32", "bf16"),
        reason="angles end at 10^8 in a delegate, far below where a rounding of the angle is more than a turn",
        most=math.inf,
        example=("sin", "fp32", 0),
    ),
    Listed(
        name="complex numbers near the limit",
        operators=words(
            """__rpow__ acos acosh addcdiv asin asinh cumprod expm1 gradient log log10 log1p log2
        nn.functional.conv_transpose1d nn.functional.conv_transpose2d nn.functional.conv_transpose3d"""
        ),
        types=("complex64",),
        reason="magnitudes, quotients and angles are composed of squares, reciprocals and sines of the parts, which "
        "XNNPACK does not compute there, as above; ATen calls the C library",
        most=math.inf,
        example=("acos", "complex64", 0),
    ),
    Listed(
        name="the sign of NaN",
        operators=("copysign",),
        types=FLOATS,
        way="special",
        reason="a sign is found by comparisons, and a NaN counts as positive; in bf16 torch makes negative ones",
        most=2.0,
        example=("copysign", "bf16", 5),
    ),
)

OTHERS = "without AVX-512" if this_machine().isa == "avx512" else "with AVX-512"
LISTED_HERE = tuple(entry for entry in LISTED if entry.processors != OTHERS)
"""Those of this processor's kernels."""


def listed(way: Way, results: list[Any]) -> Listed | None:
    """The entry that allows a sample's results, if there is one."""
    name, dtype = way.sample.name, way.sample.dtype
    for entry in LISTED_HERE:
        if name in entry.operators and dtype in entry.types and way.name == entry.way and entry.allows(results, way):
            return entry
    return None


def unneeded(found: set[tuple[str, str]]) -> list[str]:
    """What entries say of operators that need them no longer; `found` are the entries' and operators' names that do."""
    named = ((entry.name, operator) for entry in LISTED_HERE for operator in entry.operators)
    return [
        f"'{name}' is listed for {operator}, which is right"
        for name, operator in named
        if (name, operator) not in found
    ]
