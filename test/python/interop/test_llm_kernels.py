"""Stock ExecuTorch's own language models run here: `llama::custom_sdpa`, `llama::update_cache`, views in place; and
tables that its transforms quantise before 8da4w layers, lowered by stock and by xir."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.source_transformation.custom_kv_cache import (
    replace_kv_cache_with_custom_kv_cache,
)
from executorch.examples.models.llama.source_transformation.sdpa import replace_sdpa_with_custom_op
from reference.modules import Calling
from reference.runtimes import load_stock
from reference.stock import compiled
from runtime.kernel_program import KernelProgram
from torch import Tensor, nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerGroup
from torchao.utils import unwrap_tensor_subclass

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


def write(model: nn.Module, file: Path) -> Path:
    """The model, lowered by stock ExecuTorch."""
    length = torch.export.Dim("length", max=WINDOW - 1)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what ExecuTorch calls in torch
        shapes = ({1: length}, {"input_pos": {0: 1}})
        exported = torch.export.export(model, inputs(0, 3), dynamic_shapes=shapes, strict=True)
        file.write_bytes(compiled(exported).buffer)
    return file


def test_logits_are_those_of_stock(tmp_path: Path) -> None:
    """Of its file here, and of that file compiled once more: the caches are updated in place, by the same kernels."""
    kernels = {"llama::custom_sdpa.out", "llama::update_cache.out"}
    path, new = write(model(), tmp_path / "llama.pte"), tmp_path / "remade.pte"
    old = xir.load(path)
    program = old.optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    assert program.num_delegates == 3 < old.num_delegates
    assert kernels <= set(program.kernel_names)
    program.save(new)
    methods = [Runtime.get().load_program(each, threads=2).load_method() for each in (path, new)]
    assert kernels <= set(methods[0].metadata.kernel_names)
    stock, remade = load_stock(path), load_stock(new)
    for first, count in CALLS:
        tokens, rest = inputs(first, count)
        flat = [tokens, rest["input_pos"]]
        want = stock.forward(flat)[0].clone()
        for run in (*(method.execute for method in methods), remade.forward):
            torch.testing.assert_close(run(flat)[0], want, rtol=1e-4, atol=1e-5)


def gated() -> nn.Module:
    """Logits of tokens from a gated layer between an embedding and an output layer."""

    def forward(m: Any, tokens: Tensor) -> Tensor:
        hidden = m.embedding(tokens)
        return m.output(hidden + m.down(nn.functional.silu(m.gate(hidden)) * m.up(hidden)))

    shapes = {"gate": (64, 96), "up": (64, 96), "down": (96, 64), "output": (64, VOCABULARY)}
    layers = {name: nn.Linear(*shape, bias=False) for name, shape in shapes.items()}
    return Calling(forward, embedding=nn.Embedding(VOCABULARY, 64), **layers).eval()


def with_quantized_embedding(model: nn.Module, embedding: str) -> nn.Module:
    """As `export_llama` with `--embedding-quantize` makes it: bits, and how many elements of a row share a scale."""
    with pytest.MonkeyPatch.context() as patch:
        # ExecuTorch's module needs it for calibration alone, and does not install it.
        stand_in = ModuleType("pytorch_tokenizers")
        stand_in.__dict__["get_tokenizer"] = None
        patch.setitem(sys.modules, "pytorch_tokenizers", stand_in)
        transforms = import_module("executorch.examples.models.llama.source_transformation.quantize")
    return transforms.get_quant_embedding_transform(embedding, quantize_with_hqq=False)(model)


def test_a_quantized_embedding_before_quantized_layers(tmp_path: Path) -> None:
    """Tables of bytes are in `test_quantized_weights.py` of language models, and those of torchao in
    `test_quantized_programs.py`."""
    import_module("executorch.kernels.quantized")
    model = with_quantized_embedding(gated(), "4,32")
    bits = torch.int4  # pyright: ignore[reportAttributeAccessIssue]
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=bits, weight_granularity=PerGroup(32)))
    unwrap_tensor_subclass(model)
    tokens = torch.randint(0, VOCABULARY, (1, 7))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what ExecuTorch calls in torch
        exported = torch.export.export(model, (tokens,), strict=True)
        expected = exported.module()(tokens)
        stock = compiled(exported, do_quant_fusion_and_const_prop=True).buffer
    ours = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()
    file = ours.buffer
    method = Runtime.get().load_program(file).load_method()
    assert method.metadata.num_delegates == 1
    special = [name for name in ours.kernel_names if "quantized" in name or "linear" in name]
    assert special == ["quantized_decomposed::embedding_4bit.dtype_out"]
    reference = load_stock(stock).forward([tokens])[0].clone()
    for found in (method.execute([tokens])[0], load_stock(file).forward([tokens])[0]):
        torch.testing.assert_close(found, reference, rtol=1e-4, atol=1e-5)
    # And stock's are those of the quantised graph.
    assert (reference - expected).norm() <= 1e-2 * expected.norm()


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float16, 2e-3), (torch.bfloat16, 2e-2)], ids=str
)
def test_attention_is_that_of_stock(dtype: torch.dtype, tolerance: float) -> None:
    """Five heads for each of keys and values, two texts, and what lies behind the last query is not read."""
    calls = (0, 1, True), (30, 1, True), (5, 2, True), (3, 20, True), (3, 20, False)
    for features, (first, count, causal) in product((16, 71), calls):
        query = torch.randn(2, count, 10, features).to(dtype)
        key, value = (torch.randn(2, WINDOW, 2, features).to(dtype) for _ in range(2))
        expected = torch.ops.llama.custom_sdpa(query, key, value, first, None, 0.0, causal)
        for cache in (key, value):
            cache[:, first + count :] = torch.nan
        found = attend(query, key, value, first, None, causal)
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("scale", [0.7, 60.0])
def test_attention_with_a_mask_and_a_scale(scale: float) -> None:
    """With the larger scale most weights are below what fp32 holds."""
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
