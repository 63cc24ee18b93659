"""xir, for any processor and for this one (`--cpu native`), and stock ExecuTorch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

import xir
from bench import lowering, quantization
from bench.latency import load_stock, load_xir
from bench.runtimes.peer import FORMS, Inputs, Peer
from xir.quantizer import QuantConfig

INT4: Any = torch.int4  # pyright: ignore[reportAttributeAccessIssue]

GROUP = 32
"""Elements of a row that share a scale, in 4-bit weights."""


def _quantize_xir(model: nn.Module, sample: Inputs, images: Sequence[Inputs], mode: str) -> ExportedProgram:
    if mode != "int4":
        return quantization.quantize_xir(model, sample, images, mode)
    return xir.quantize(model, sample, calibration=images, config=QuantConfig(mode="int4", group_size=GROUP))


def _compile_xir(exported: ExportedProgram, form: str, path: Path, cpu: str = "generic") -> None:
    if form == "portable":
        path.write_bytes(xir.to_edge(exported).to_executorch().buffer)
    else:
        lowering.lower_xir(exported, path, cpu)


def _quantize_stock(model: nn.Module, sample: Inputs, images: Sequence[Inputs], mode: str) -> ExportedProgram:
    """By its quantizer, and 4 bits by torchao as its users do, with activations in 8 bits at run time ("8da4w")."""
    if mode != "int4":
        return quantization.quantize_stock(model, sample, images, mode)
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerGroup

    config: Any = Int8DynamicActivationIntxWeightConfig(weight_dtype=INT4, weight_granularity=PerGroup(GROUP))
    quantize_(model, config, _can_be_grouped)
    return torch.export.export(model, sample)


def _can_be_grouped(module: nn.Module, name: str) -> bool:
    return isinstance(module, nn.Linear) and module.in_features % GROUP == 0


def _compile_stock(exported: ExportedProgram, form: str, path: Path) -> None:
    if form == "portable":
        from executorch.exir import to_edge

        path.write_bytes(to_edge(exported).to_executorch().buffer)
    else:
        lowering.lower_stock(exported, path)


XIR = Peer("xir", ("xir",), FORMS, ".pte", _compile_xir, load_xir, _quantize_xir)
NATIVE = dataclasses.replace(
    XIR, name="xir native", forms=("fp32", "int8", "int4"), compile=partial(_compile_xir, cpu="native")
)
STOCK = Peer("ExecuTorch", ("executorch",), FORMS, ".pte", _compile_stock, load_stock, _quantize_stock)
