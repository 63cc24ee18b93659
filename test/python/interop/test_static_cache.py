"""transformers' own exports of decoders with a static cache: eager's logits, step by step, also in stock ExecuTorch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import torch
from llm.tiny_models import tiny_model
from reference.runtimes import load_stock
from torch import Tensor
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge
from xir.ir.diagnostics import DiagnosticError
from xir.llm.huggingface.checkpoint import import_transformers
from xir.runtime import Runtime

WINDOW, VOCABULARY = 40, 160


def decoder() -> Any:
    """Llama with grouped heads, small and at random."""
    model = tiny_model("Llama", num_hidden_layers=2, max_position_embeddings=WINDOW)
    model.generation_config = import_transformers().GenerationConfig(
        use_cache=True, cache_implementation="static", cache_config={"batch_size": 1, "max_cache_len": WINDOW}
    )
    return model


def exportable_module(model: Any, **options: Any) -> Any:
    """What transformers makes of a decoder for an export."""
    return import_module("transformers.integrations.executorch").TorchExportableModuleForDecoderOnlyLM(model, **options)


def call(first: int, count: int) -> tuple[Tensor, Tensor]:
    return torch.randint(0, VOCABULARY, (1, count)), torch.arange(first, first + count)


@pytest.mark.filterwarnings("ignore:While compiling, we found certain side effects", "ignore:`isinstance")
def test_decoders_with_a_static_cache() -> None:
    """`TorchExportableModuleForDecoderOnlyLM`, for texts of any length."""
    model = decoder()
    tokens, positions = call(0, 3)
    length = Dim("length", max=WINDOW - 1)
    shapes = {"input_ids": {1: length}, "cache_position": {0: length}}
    with torch.no_grad():
        exportable = exportable_module(model, batch_size=1, max_cache_len=WINDOW)
        exported = exportable.export(input_ids=tokens, cache_position=positions, dynamic_shapes=shapes)
        eager = exported.module()
    program = to_edge(exported).to_backend(XnnpackPartitioner()).to_executorch()
    assert "aten::_local_scalar_dense" in program.kernel_names  # the number of live positions
    file = program.buffer
    method, stock = Runtime.get().load_program(file, threads=1).load_method(), load_stock(file)
    assert method.metadata.num_delegates == 3
    first = 0
    for count in (9, 1, 1, 20, 1, 8):
        inputs = call(first, count)
        first += count
        with torch.no_grad():
            expected = eager(input_ids=inputs[0], cache_position=inputs[1])
        torch.testing.assert_close(method.execute(inputs)[0], expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(stock.forward(inputs)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:A model attribute")
def test_what_torch_cannot_make_functional() -> None:
    """Modules that run under `torch.no_grad()` are calls of graphs in an export that is not strict."""
    model = decoder()
    tokens, positions = call(0, 1)
    exportable = exportable_module(model, batch_size=1, max_cache_len=WINDOW)
    exported = exportable.export(input_ids=tokens, cache_position=positions, strict=False)
    with pytest.raises(DiagnosticError, match=r"cannot take side effects out .*: AssertionError: .* with strict=True"):
        to_edge(exported)
