"""Quantisation of PyTorch models by torchao's PT2E flow. This package imports torch and torchao.

    program = xir.quantize(model, sample_inputs, calibration=batches)
    edge = xir.to_edge(program).to_backend(xir.XnnpackPartitioner())

What can compute on integers is said once, at the legalisation rules (`xir.transforms.legalizations.rule.QUANTIZED`);
`XnnpackQuantizer` annotates by that table.
"""

from .config import QuantConfig
from .quantize import quantize
from .quantizer import XnnpackQuantizer

__all__ = ["QuantConfig", "XnnpackQuantizer", "quantize"]
