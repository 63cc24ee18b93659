"""The rules that turn edge ops into xnnpack ops, a file a family; importing the package fills `RULES`."""

from xir.transforms.legalizations import (
    activation,
    convolution,
    dynamic,
    elementwise,
    functions,
    matrix,
    pooling,
    quantization,
    reduction,
    resampling,
    selection,
    shape,
)
from xir.transforms.legalizations.rule import QUANTIZED, RULES, SYMBOLIC, NodeBuilder, Quantized, RefusalError, Rule

__all__ = [
    "QUANTIZED",
    "RULES",
    "SYMBOLIC",
    "NodeBuilder",
    "Quantized",
    "RefusalError",
    "Rule",
    "activation",
    "convolution",
    "dynamic",
    "elementwise",
    "functions",
    "matrix",
    "pooling",
    "quantization",
    "reduction",
    "resampling",
    "selection",
    "shape",
]
