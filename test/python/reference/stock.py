"""What stock ExecuTorch makes of a model: quantised by its quantiser, and compiled for its runtime."""

from __future__ import annotations

from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer import xnnpack_quantizer
from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge_transform_and_lower
from torch import nn
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


def quantized(
    model: nn.Module,
    inputs: tuple[Any, ...],
    dynamic_shapes: Any = None,
    *,
    is_per_channel: bool = True,
    **options: Any,
) -> ExportedProgram:
    """The model as ExecuTorch's quantiser for XNNPACK leaves it; `options` are of its symmetric configuration."""
    config = xnnpack_quantizer.get_symmetric_quantization_config(is_per_channel=is_per_channel, **options)
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic_shapes).module()
    quantizer = xnnpack_quantizer.XNNPACKQuantizer().set_global(config)
    observed = prepare_pt2e(exported, quantizer)  # pyright: ignore[reportArgumentType]
    with torch.no_grad():
        observed(*inputs)
    return torch.export.export(convert_pt2e(observed), inputs, dynamic_shapes=dynamic_shapes)


def compiled(
    program: ExportedProgram, *, delegates: bool = True, constant_methods: Any = None, **options: Any
) -> ExecutorchProgramManager:
    """A program for ExecuTorch's runtime, whose file is its `buffer`; `options` are of its emitter."""
    lowered = to_edge_transform_and_lower(
        program, partitioner=[XnnpackPartitioner()] if delegates else [], constant_methods=constant_methods
    )
    return lowered.to_executorch(ExecutorchBackendConfig(**options))
