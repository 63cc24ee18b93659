"""What ATen takes for arguments that are absent, where no schema says it: the same for nodes and for kernels."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Attribute


def rms_norm_epsilon(element: Attribute) -> float:
    """`eps` of an rms_norm: how far the next number after 1 is in the type that is computed in, fp32 for fp16 and bf16
    (`rms_norm_composite` in ATen/native/layer_norm.cpp)."""
    return 2.0**-52 if isinstance(element, Float64Type) else 2.0**-23


def attention_scale(features: int) -> float:
    """`scale` of attention over heads of a size (`calculate_scale` in ATen/native/transformers/sdp_utils_cpp.h)."""
    return 1 / math.sqrt(features)


def variance_correction(correction: float | None) -> float:
    """`correction` of a variance: that of a sample."""
    return 1 if correction is None else correction
