"""The rules that turn edge ops without a kernel into ops that have one, a file a family; importing the package fills
`DECOMPOSITIONS`."""

from xir.transforms.edge.decompositions import (
    convolution,
    elementwise,
    matrix,
    normalization,
    pooling,
    quantization,
    reduction,
    shape,
)
from xir.transforms.edge.decompositions.rule import DECOMPOSITIONS, Decomposition, EdgeBuilder, Expansion, expanded

__all__ = [
    "DECOMPOSITIONS",
    "Decomposition",
    "EdgeBuilder",
    "Expansion",
    "convolution",
    "elementwise",
    "expanded",
    "matrix",
    "normalization",
    "pooling",
    "quantization",
    "reduction",
    "shape",
]
