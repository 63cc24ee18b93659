"""The rules that turn edge ops into xnnpack ops, a file a family; importing the package fills `RULES`."""

from xir.transforms.xnnpack.legalizations import (
    activation,
    borders,
    composites,
    convolution,
    dynamic_sizes,
    elementwise,
    masking,
    matrix,
    pixels,
    pooling,
    quantization,
    reduction,
    resampling,
    shape,
    special_functions,
)
from xir.transforms.xnnpack.legalizations.expansion import lower
from xir.transforms.xnnpack.legalizations.rule import (
    RULES,
    NodeBuilder,
    Quantized,
    RuleInfo,
)

__all__ = [
    "RULES",
    "NodeBuilder",
    "Quantized",
    "RuleInfo",
    "activation",
    "borders",
    "composites",
    "convolution",
    "dynamic_sizes",
    "elementwise",
    "lower",
    "masking",
    "matrix",
    "pixels",
    "pooling",
    "quantization",
    "reduction",
    "resampling",
    "shape",
    "special_functions",
]
