"""Stock ExecuTorch's own language models run here: `llama::custom_sdpa`, `llama::update_cache`, views in place."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.source_transformation.custom_kv_cache import (
    replace_kv_cache_with_custom_kv_cache,
)
from executorch.examples.models.llama.source_transformation.sdpa import replace_sdpa_with_custom_op
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from reference.runtimes import load_stock
from runtime.kernel_program import KernelProgram
from torch import Tensor, nn

import xir
from xir.runtime import Runtime, XirRuntimeError

import_module("executorch.extension.llm.custom_ops.custom_ops")  # registers torch.ops.llama

WINDOW, VOCABULARY = 32, 100
CALLS = ((0, 5), (5, 1), (6, 1), (7, 9), (16, 1))
"""The first position and the number of tokens of each call."""


def model() -> nn.Module:
    """As ExecuTorch's `export_llama` with `--use_kv_cache --use_sdpa_with_kv_cache` makes it."""
    torch.manual_seed(0)
    size = ModelArgs(
        dim=64,
        hidden_dim=96,
        n_layers=1,
        n_heads=4,
        n_kv_heads=2,
        vocab_size=VOCABULARY,
        max_seq_len=WINDOW,
        max_context_len=WINDOW,
        use_kv_cache=True,
        use_sdpa_with_kv_cache_op=True,
        enable_dynamic_shape=True,
    )
    made = construct_transformer(size).eval()
    return replace_sdpa_with_custom_op(replace_kv_cache_with_custom_kv_cache(made))


def inputs(first: int, count: int) -> tuple[Tensor, dict[str, Tensor]]:
    return torch.randint(0, VOCABULARY, (1, count)), {"input_pos": torch.tensor([first])}


def with_quantized_embedding(model: nn.Module, embedding: str) -> nn.Module:
    """As `export_llama` with `--embedding-quantize` makes it: bits, and how many elements of a row share a scale."""
    with pytest.MonkeyPatch.context() as patch:
        # ExecuTorch's module needs it for calibration alone, and does not install it.
        stand_in = ModuleType("pytorch_tokenizers")
        stand_in.__dict__["get_tokenizer"] = None
        patch.setitem(sys.modules, "pytorch_tokenizers", stand_in)
        transforms = import_module("executorch.examples.models.llama.source_transformation.quantize")
    return transforms.get_quant_embedding_transform(embedding, quantize_with_hqq=False)(model)


def write(model: nn.Module, file: Path, *, fuses: bool) -> Path:
    """The model, lowered by stock ExecuTorch."""
    import_module("executorch.kernels.quantized")
    length = torch.export.Dim("length", max=WINDOW - 1)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what ExecuTorch calls in torch
        shapes = ({1: length}, {"input_pos": {0: 1}})
        exported = torch.export.export(model, inputs(0, 3), dynamic_shapes=shapes, strict=True)
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        config = ExecutorchBackendConfig(do_quant_fusion_and_const_prop=fuses)
        file.write_bytes(lowered.to_executorch(config).buffer)
    return file


@pytest.mark.parametrize(
    ("embedding", "kernels"),
    [
        # With quantised tables stock takes tens of seconds to lower a model; test_quantized_embedding.py has these.
        pytest.param(None, set[str](), id="fp32"),
        pytest.param(
            "8,none",
            {"quantized_decomposed::embedding_byte.dtype_out"},
            id="embedding8",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            "4,32", {"quantized_decomposed::embedding_4bit.dtype_out"}, id="embedding4", marks=pytest.mark.exhaustive
        ),
    ],
)
def test_logits_are_those_of_stock(embedding: str | None, kernels: set[str], tmp_path: Path) -> None:
    made = model() if embedding is None else with_quantized_embedding(model(), embedding)
    path = write(made, tmp_path / "llama.pte", fuses=embedding is not None)
    stock = load_stock(path)
    method = Runtime.get().load_program(path, threads=2).load_method()
    wanted = {"llama::custom_sdpa.out", "llama::update_cache.out"} | kernels
    assert wanted <= set(method.metadata.kernel_names)
    for first, count in CALLS:
        tokens, rest = inputs(first, count)
        flat = [tokens, rest["input_pos"]]
        torch.testing.assert_close(method.execute(flat)[0], stock.forward(flat)[0], rtol=1e-4, atol=1e-5)
    remade_computes_the_same(path, tmp_path / "remade.pte")


def remade_computes_the_same(path: Path, new: Path) -> None:
    """The caches are updated in place, by the same kernels, and what is around them is compiled once more."""
    old = xir.load(path)
    program = old.optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    assert program.num_delegates == 3 < old.num_delegates
    assert {"llama::custom_sdpa.out", "llama::update_cache.out"} <= set(program.kernel_names)
    program.save(new)
    method, before, after = Runtime.get().load_program(new).load_method(), load_stock(path), load_stock(new)
    for first, count in CALLS:
        tokens, rest = inputs(first, count)
        flat = [tokens, rest["input_pos"]]
        want = before.forward(flat)[0].clone()
        torch.testing.assert_close(method.execute(flat)[0], want, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(after.forward(flat)[0], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("features", [16, 71])
@pytest.mark.parametrize(
    ("first", "count", "causal"), [(0, 1, True), (30, 1, True), (5, 2, True), (3, 20, True), (3, 20, False)]
)
def test_attention_is_that_of_stock(first: int, count: int, causal: bool, features: int, dtype: torch.dtype) -> None:
    """Five heads for each of keys and values, two texts, and what lies behind the last query is not read."""
    torch.manual_seed(0)
    query = torch.randn(2, count, 10, features).to(dtype)
    key, value = (torch.randn(2, WINDOW, 2, features).to(dtype) for _ in range(2))
    expected = torch.ops.llama.custom_sdpa(query, key, value, first, None, 0.0, causal)
    for cache in (key, value):
        cache[:, first + count :] = torch.nan
    found = attend(query, key, value, first, None, causal)
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("scale", [0.7, 60.0])
def test_attention_with_a_mask_and_a_scale(scale: float) -> None:
    """With the larger scale most weights are below what fp32 holds."""
    torch.manual_seed(0)
    query, key, value = torch.randn(1, 3, 4, 8), torch.randn(1, WINDOW, 4, 8), torch.randn(1, WINDOW, 4, 8)
    mask = torch.where(torch.rand(3, WINDOW) < 0.5, 0.0, -torch.inf)
    q, k, v = (each.transpose(1, 2) for each in (query, key, value))
    expected = nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=scale)
    found = attend(query, key, value, 0, mask, causal=False, scale=scale)
    torch.testing.assert_close(found, expected.transpose(1, 2), rtol=1e-5, atol=1e-5)


def test_attention_to_what_is_no_number() -> None:
    """It stays none, in the row that sees it."""
    query, key, value = torch.ones(1, 2, 2, 16), torch.ones(1, WINDOW, 2, 16), torch.ones(1, WINDOW, 2, 16)
    key[0, 20, 1, 3] = torch.nan
    found = attend(query, key, value, 19, None, causal=True)
    assert found[0].isnan().any(-1).tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize(
    ("shapes", "first", "error"),
    [
        (((1, 2, 4, 8), (1, 9, 3, 8)), 0, "do not fit"),
        (((1, 2, 4, 8), (2, 9, 2, 8)), 0, "do not fit"),
        (((1, 2, 4, 8), (1, 9, 2, 8)), 8, "2 positions from 8 on, in a cache of 9"),
        (((1, 2, 4, 8), (1, 9, 2, 8)), -1, "2 positions from -1 on"),
    ],
)
def test_attention_that_does_not_fit(shapes: tuple[tuple[int, ...], ...], first: int, error: str) -> None:
    query, key = (torch.zeros(shape) for shape in shapes)
    with pytest.raises(XirRuntimeError, match=error):
        attend(query, key, key, first, None, causal=True)


def attend(
    query: Tensor, key: Tensor, value: Tensor, first: int, mask: Tensor | None, causal: bool, scale: float | None = None
) -> Tensor:
    program = KernelProgram()
    arguments = [query, key, value, first, mask, 0.0, causal, scale]
    program.call("llama::custom_sdpa.out", arguments, [torch.empty_like(query)])
    return program.run()[0]
