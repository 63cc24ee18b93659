"""Files of stock ExecuTorch, and what becomes of them when they are compiled once more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from reference.runtimes import both, load_stock
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import xir

IMAGE = torch.randn(1, 8, 6, 6)


def stock_file(
    model: nn.Module,
    inputs: tuple[Any, ...],
    path: Path,
    *,
    delegates: bool = True,
    quantized: bool = False,
    weights_apart: bool = False,
    dynamic_shapes: Any = None,
    **options: Any,
) -> Path:
    """ExecuTorch's file of a model, beside one of its weights if these are apart; `options` are of its emitter."""
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic_shapes)
    if quantized:
        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
        observed = prepare_pt2e(exported.module(), quantizer)  # pyright: ignore[reportArgumentType]
        observed(*inputs)
        exported = torch.export.export(convert_pt2e(observed), inputs)
    lowered = to_edge_transform_and_lower(exported, partitioner=[StockPartitioner()] if delegates else [])
    program = lowered.to_executorch(ExecutorchBackendConfig(external_constants=weights_apart, **options))
    path.write_bytes(program.buffer)
    if weights_apart:
        program.write_tensor_data_to_file(str(path.parent))
    return path


def remade(path: Path) -> xir.ExecutorchProgram:
    """A file's program compiled once more, all of its methods, and saved as `better.pte` beside it."""
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    program.save(path.with_name("better.pte"))
    return program


def assert_same(old: Path, *calls: Sequence[Any], check_stride: bool = False, **runtimes: bool) -> None:
    """What stock's runtime makes of a file, `xir` and `stock` make of `better.pte` beside it, unless they are False."""
    stock, runs = load_stock(old), both(old.with_name("better.pte").read_bytes())
    runs = [run for name, run in zip(("xir", "stock"), runs, strict=True) if runtimes.get(name, True)]
    for given in calls:
        want = [each.clone() if isinstance(each, Tensor) else each for each in stock.forward(list(given))]
        for run in runs:
            torch.testing.assert_close(run(given), want, rtol=1e-5, atol=1e-5, check_stride=check_stride)
