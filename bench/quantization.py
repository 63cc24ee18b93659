"""The same model quantised by xir's recipe and by stock ExecuTorch's, each from the same calibration inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import xir
from xir.quantizer import QuantConfig

Quantize = Callable[[nn.Module, tuple[Tensor, ...], Sequence[tuple[Tensor, ...]], str], ExportedProgram]
"""Quantises a model, exported with a sample, on calibration inputs, in a mode."""

IMAGES = 8
"""Calibration inputs, on which accuracy is measured too."""

SEED = 5


def calibration_inputs(sample: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
    """Random inputs like the sample: normal numbers, and whole ones in the sample's range."""
    generator = torch.Generator().manual_seed(SEED)

    def like(tensor: Tensor) -> Tensor:
        if tensor.is_floating_point():
            return torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
        high = int(tensor.max()) + 1
        return torch.randint(0, max(high, 2), tensor.shape, generator=generator, dtype=tensor.dtype)

    return [tuple(like(tensor) for tensor in sample) for _ in range(IMAGES)]


def gather_statistics(model: nn.Module, inputs: Sequence[tuple[Tensor, ...]]) -> None:
    """Set each batch norm's statistics from data: random weights alone give activations that fade or explode."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d)]
    if not norms:
        return
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean over all batches
        norm.train()
    with torch.no_grad():
        model(*(torch.cat(tensors) for tensors in zip(*inputs, strict=True)))
    for norm in norms:
        norm.eval()


def quantize_xir(
    model: nn.Module, sample: tuple[Tensor, ...], inputs: Sequence[tuple[Tensor, ...]], mode: str
) -> ExportedProgram:
    """Quantise with `xir.quantize`."""
    return xir.quantize(model, sample, calibration=inputs, config=QuantConfig(mode=mode))  # pyright: ignore[reportArgumentType]


def quantize_stock(
    model: nn.Module, sample: tuple[Tensor, ...], inputs: Sequence[tuple[Tensor, ...]], mode: str
) -> ExportedProgram:
    """Quantise with stock ExecuTorch's quantiser, by channel as its `aot_compiler` does."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=mode != "static"))
    observed = prepare_pt2e(torch.export.export(model, sample).module(), quantizer)
    with torch.no_grad():
        for each in inputs:
            observed(*each)
        return torch.export.export(convert_pt2e(observed), sample)


def sqnr(outputs: Sequence[Tensor], references: Sequence[Tensor]) -> float:
    """The signal-to-quantisation-noise ratio in dB, of all outputs together."""
    noise = sum(float((got - want).double().square().sum()) for got, want in zip(outputs, references, strict=True))
    signal = sum(float(want.double().square().sum()) for want in references)
    return float("inf") if noise == 0 else 10 * torch.log10(torch.tensor(signal / noise, dtype=torch.float64)).item()
