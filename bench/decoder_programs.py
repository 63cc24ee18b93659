"""The decoder of `bench.decoder` as programs: xir's with prefill and decode, stock's with one method of open length."""

from __future__ import annotations

import importlib.metadata
from copy import deepcopy
from dataclasses import astuple
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
from torch.export import Dim

from bench.decoder import CustomAttention, Decoder, Size, decoder
from bench.progress import step
from xir.api import XnnpackPartitioner, to_edge
from xir.ir.targets import Target
from xir.llm.huggingface.quantization import Int4Weight, Int8Weight, quantize

Form = Literal["fp32", "int8", "int4"]
"""fp32; weights of 8 bits with a scale for each channel; weights of 4 bits with a scale for each group of 32 inputs.

The activations of the last two are quantised as they come, to 8 bits."""
GROUP = 32
CHUNK = 512
"""The longest prompt of a prefill."""


@cache
def graph(size: Size, form: Form) -> Decoder:
    """The decoder that xir compiles, quantised by `xir-llm`'s own recipe."""
    model = decoder(size)
    quantize(model, "none" if form == "fp32" else form, GROUP)
    return model


def eager(size: Size, form: Form) -> Decoder:
    """The same, with weights that are dequantised once: a step then takes milliseconds."""
    model = deepcopy(graph(size, form))
    model.set_window(size.window)
    for module in model.modules():
        if isinstance(module, Int4Weight | Int8Weight):
            weight = module()
            module.forward = lambda weight=weight: weight
    return model


def weight_bytes(size: Size, form: Form) -> int:
    """What a token reads of the weights of linear layers; the table of an embedding has one row to read."""
    kept = size.kv_heads * size.features
    layer = size.width * (2 * size.width + 2 * kept + 3 * size.inner)
    count = size.layers * layer + size.width * size.vocabulary
    bits = {"fp32": 32.0, "int8": 8.0, "int4": 4 + 16 / GROUP}[form]
    return int(count * bits / 8)


def cache_bytes(size: Size, live: int) -> int:
    """What a token reads of the keys and values of so many."""
    return 2 * size.layers * live * size.kv_heads * size.features * 4


def xir_program(
    size: Size, form: Form, folder: Path, target: Target = "executorch", *, window: int | None = None
) -> Path:
    """A new file. Its methods share weights and caches; for another window than the size's it has decode alone."""
    of_window = "" if window is None else f"_window{window}"
    path = folder / f"decoder_{_name(size, form)}{of_window}_xir_for_{target}.pte"
    with step(f"Compiling {path.stem}"), torch.no_grad():
        model, length = graph(size, form), Dim("length", min=2, max=min(CHUNK, size.window))
        model.set_window(window or size.window)
        methods = {"decode": torch.export.export(model, (torch.tensor([[1]]), torch.tensor([0])))}
        if window is None:
            prompt = torch.zeros(1, 2, dtype=torch.int64), torch.arange(2)
            methods["prefill"] = torch.export.export(model, prompt, dynamic_shapes=({1: length}, {0: length}))
        program = to_edge(methods).to_backend(XnnpackPartitioner(target)).to_executorch()
        with path.open("wb") as file:
            program.write_to_file(file)
    return path


def stock_program(size: Size, form: Form, folder: Path) -> Path:
    """The file, made unless it is there: a method of open length, as ExecuTorch's `export_llama` has it.

    Attention and caches are `llama::custom_sdpa` and `llama::update_cache`, and weights are quantised by torchao's
    configuration of `8da4w` and `8da8w`.
    """
    path = folder / f"decoder_{_name(size, form)}_executorch_{importlib.metadata.version('executorch')}.pte"
    if path.exists():
        return path
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
    from executorch.exir import to_edge_transform_and_lower

    load_stock_operators()
    with step(f"Compiling {path.stem}"), torch.no_grad():
        model = decoder(size, CustomAttention)
        if form != "fp32":
            _quantize_by_torchao(model, form)
        length = Dim("length", min=1, max=size.window - 1)
        example = (torch.zeros(1, 3, dtype=torch.int64), torch.arange(3))
        exported = torch.export.export(model, example, dynamic_shapes=({1: length}, {0: length}), strict=True)
        lowered = to_edge_transform_and_lower(exported, partitioner=[StockPartitioner()]).to_executorch()
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(lowered.buffer)
        unfinished.rename(path)
    return path


def load_stock_operators() -> None:
    """Register `llama::custom_sdpa` and its kind with torch and with ExecuTorch's runtime."""
    import_module("executorch.extension.llm.custom_ops.custom_ops")


def _quantize_by_torchao(model: Decoder, form: Form) -> None:
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.utils import unwrap_tensor_subclass

    integers: Any = torch  # whose stubs lack int4
    bits, granularity = (integers.int4, PerGroup(GROUP)) if form == "int4" else (torch.int8, PerAxis(0))
    config: Any = Int8DynamicActivationIntxWeightConfig(weight_dtype=bits, weight_granularity=granularity)
    quantize_(model, config)
    unwrap_tensor_subclass(model)


def _name(size: Size, form: Form) -> str:
    return f"{'x'.join(map(str, astuple(size)))}_{form}"
