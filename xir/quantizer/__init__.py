"""Quantisation of PyTorch models by torchao's PT2E flow. This package imports torch and torchao.

    program = xir.quantize(model, sample_inputs, calibration=batches)
    edge = xir.to_edge(program).to_backend(xir.XnnpackPartitioner())

The legalisation rules say which ops can compute on integers (`xir.transforms.xnnpack.legalizations.rule.Quantized`);
`XnnpackQuantizer` annotates by them.
"""

from xir.importer import torchao_operators as torchao_operators  # the first to import torchao, which it silences

from .config import QuantConfig
from .quantize import quantize, quantize_and_measure
from .quantizer import XnnpackQuantizer
from .report import Layer, QuantReport
from .verification import WrongQuantizationError

__all__ = [
    "Layer",
    "QuantConfig",
    "QuantReport",
    "WrongQuantizationError",
    "XnnpackQuantizer",
    "quantize",
    "quantize_and_measure",
]
