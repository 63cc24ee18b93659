"""Operators in terms of others, where torch has no decomposition, or one by comparisons, which XNNPACK cannot compute.

Each is what ATen's documentation says of the operator, written in operators that the edge dialect has rows for: a
function with `@decomposes` in the file of its family. Importing the package fills `OWN`.
"""

from . import (
    convolution,
    creation,
    elementwise,
    lookup,
    matrix,
    normalization,
    pooling,
    recurrent,
    reduction,
    resampling,
    shape,
)
from .region_features import OF_TORCHVISION
from .registry import OWN, in_common_float

__all__ = [
    "OF_TORCHVISION",
    "OWN",
    "convolution",
    "creation",
    "elementwise",
    "in_common_float",
    "lookup",
    "matrix",
    "normalization",
    "pooling",
    "recurrent",
    "reduction",
    "resampling",
    "shape",
]
