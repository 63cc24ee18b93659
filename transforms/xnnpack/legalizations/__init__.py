"""The rules that turn edge ops into xnnpack ops, a file a family; importing the package fills `RULES`."""

from xir.transforms.xnnpack.legalizations import (
    activation,
    convolution,
    dynamic_sizes,
    elementwise,
    masking,
    matrix,
    pooling,
    quantization,
    reduction,
    resampling,
    shape,
    special_functions,
)
from xir.transforms.xnnpack.legalizations.rule import (
    EMPTY,
    QUANTIZED,
    REFUSES,
    RULES,
    SYMBOLIC,
    NodeBuilder,
    Quantized,
    Rule,
)

__all__ = [
    "EMPTY",
    "QUANTIZED",
    "REFUSES",
    "RULES",
    "SYMBOLIC",
    "NodeBuilder",
    "Quantized",
    "Rule",
    "activation",
    "convolution",
    "dynamic_sizes",
    "elementwise",
    "masking",
    "matrix",
    "pooling",
    "quantization",
    "reduction",
    "resampling",
    "shape",
    "special_functions",
]
