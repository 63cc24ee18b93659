"""Language models with weights of 8 and 4 bits: the numbers of their quantised graphs, stored once."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import executorch.kernels.quantized  # pyright: ignore[reportUnusedImport]  # noqa: F401  # stock's look-ups in tables
import pytest
import torch
from llm.logits import PROMPT, logits_of, stock_logits
from llm.tiny_models import write_family
from torch import Tensor, nn

from xir.api import XnnpackPartitioner, to_edge
from xir.llm import ExportOptions, export
from xir.llm.export import compiled
from xir.llm.huggingface.cached_decoder import CachedDecoder
from xir.llm.huggingface.quantization import (
    Int4Weight,
    Int8Weight,
    QuantizedEmbedding,
    QuantizedLinear,
    quantize,
)
from xir.quantizer.observers import BLOCK

REST, WINDOW = [140, 77, 31, 5, 12, 0], 16
"""Behind the prompt; the last one ends the text."""
TOKENS = [*PROMPT, *REST[:-1]]


@dataclass
class Case:
    path: Path
    graph: nn.Module
    """The model with quantised weights, in PyTorch."""


CASES = [
    ("Llama", "int8", "int8"),
    pytest.param(("Llama", "int4", "int8"), marks=pytest.mark.exhaustive),
    ("Qwen3", "int4", "int4"),
    pytest.param(("Gemma3Text", "int4", "int4"), marks=pytest.mark.exhaustive),
    ("Llama", "none", "int4"),
]
"""The family, and the bits of linear layers and of embeddings."""


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The output layers of the Llama and the Gemma have the embedding's weights, that of the Qwen3 its own."""
    family, mode, embedding = request.param
    folder = tmp_path_factory.mktemp("model")
    model = write_family(family, folder)
    options = ExportOptions(mode, max_seq_len=WINDOW, quantize_embedding=embedding)
    program, _ = compiled(folder, options)
    program.save(folder / "model.pte")
    program.save(folder / "apart.pte", weights_apart=True)
    quantized = deepcopy(model)
    quantize(quantized, mode, 32, embedding)
    return Case(folder / "model.pte", CachedDecoder(quantized, model.config, WINDOW).eval())


def integers_of(weight: Int8Weight | Int4Weight) -> Tensor:
    """A byte each."""
    if isinstance(weight, Int8Weight):
        return weight.integers
    return torch.stack([weight.packed & 15, weight.packed >> 4], -1).flatten(1).to(torch.int8) - 8


def noise(found: Tensor, expected: Tensor) -> float:
    """The error's share of the signal's power."""
    return float((found - expected).square().sum() / expected.square().sum())


def graph_logits(graph: nn.Module) -> Tensor:
    """The same of the graph in PyTorch."""
    with torch.no_grad():
        rows = [
            graph(torch.tensor([TOKENS[:end]]), torch.arange(end))[:, 0] for end in range(len(PROMPT), len(TOKENS) + 1)
        ]
    return torch.cat(rows)


def nudged(graph: nn.Module, seed: int) -> nn.Module:
    """The graph with its norms' weights moved by no more than fp32 rounds."""
    other = deepcopy(graph)
    torch.manual_seed(seed)
    for name, weight in other.named_parameters():
        if "norm" in name:
            weight.data.add_(1e-7 * torch.randn_like(weight))
    return other


def test_the_file_computes_its_quantized_graph(case: Case) -> None:
    """As nearly as the graph computes itself.

    Where rounding moves a number to the next integer, scales of later rows change, and with them more integers.
    """
    graph = graph_logits(case.graph)
    own = max(noise(graph_logits(nudged(case.graph, seed)), graph) for seed in range(3))
    assert noise(logits_of(case.path, PROMPT, REST), graph) < 2 * own
    assert own < 2e-3


def test_stock_computes_the_same(case: Case) -> None:
    found = stock_logits(TOKENS, case.path)[len(PROMPT) - 1 :]
    torch.testing.assert_close(found, logits_of(case.path, PROMPT, REST), rtol=1e-4, atol=1e-4)


def test_weights_are_stored_once(case: Case) -> None:
    """In 4 bits where they have those; the embedding's integers also where they are the output layer's."""
    content = case.path.read_bytes()
    for module in case.graph.modules():
        weight = getattr(module, "quantized", None)
        if isinstance(weight, Int8Weight):
            assert content.count(weight.integers.numpy().tobytes()) == 1
        elif isinstance(weight, Int4Weight):
            first, second = weight.packed & 15, weight.packed >> 4
            packed = first << 4 | second if isinstance(module, QuantizedEmbedding) else first | second << 4
            assert content.count(packed.numpy().tobytes()) == 1
            assert content.count(integers_of(weight).numpy().tobytes()) == 0


@pytest.mark.parametrize("group_size", [64, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (128, 256))])
def test_groups_of_other_sizes(group_size: int, tmp_path: Path) -> None:
    """For xir's runtime alone, and with embeddings of 4 bits."""
    model = write_family("Llama", tmp_path, hidden_size=256, intermediate_size=256, num_hidden_layers=1)
    options = ExportOptions("int4", group_size, WINDOW, target="xir", quantize_embedding="int4")
    export(tmp_path, tmp_path / "model.pte", options)
    quantize(model, "int4", group_size, "int4")
    graph = CachedDecoder(model, model.config, WINDOW).eval()
    logits = graph_logits(graph)
    own = max(noise(graph_logits(nudged(graph, seed)), logits) for seed in range(3))
    assert noise(logits_of(tmp_path / "model.pte", PROMPT, REST), logits) < max(2 * own, 1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("mode", "bits"), [("int8", 8), ("int4", 4)])
def test_integers_are_the_nearest(mode: Literal["int8", "int4"], bits: int, dtype: torch.dtype) -> None:
    """Also where a weight is larger than what is computed at a time, of channels of zeros, and of another type."""
    torch.manual_seed(0)
    channels = BLOCK // 128 + 3
    weight = torch.randn(channels, 128).to(dtype)
    weight[3] = 0
    if mode == "int8":
        found = Int8Weight(weight)
        scales = found.scales[:, None].expand(-1, 128)
        torch.testing.assert_close(
            scales[:, 0][weight.abs().amax(1) > 0] * 127, weight[[*range(3), *range(4, channels)]].abs().amax(1).float()
        )
    else:
        found = Int4Weight.nearest(weight, 64)
        scales = found.scales.repeat_interleave(64, 1)
    least = -127 if mode == "int8" else -8
    integers = integers_of(found)
    assert int(integers.min()) >= least
    assert int(integers.max()) <= 2 ** (bits - 1) - 1
    wanted = (weight.float() / scales).round().clamp(least, 2 ** (bits - 1) - 1)
    torch.testing.assert_close(integers.float(), wanted, rtol=0, atol=0)
    torch.testing.assert_close(found(), wanted * scales)


def test_what_is_not_replaced_has_the_type_of_activations() -> None:
    """Buffers are fp32, but for the scales, which take as much memory as in the file."""
    model = nn.Sequential(nn.Linear(64, 8), nn.LayerNorm(8), nn.BatchNorm1d(8)).bfloat16()
    quantize(model, "int4", 32, dtype=torch.float16)
    weight = next(module for module in model.modules() if isinstance(module, Int4Weight))
    assert weight.scales.dtype == torch.bfloat16
    assert {each.dtype for each in model[1].parameters()} == {torch.float16}
    assert model.get_buffer("2.running_mean").dtype == torch.float32


def test_many_scales() -> None:
    """As many as a large output layer has: megabytes that the verifier reads, beside a graph of some bytes."""
    weight = Int4Weight.nearest(torch.ones(2, 64), 32)
    for name in ("packed", "scales"):
        weight.register_buffer(name, weight.get_buffer(name)[:1].expand(300_000, -1).contiguous())
    with torch.no_grad():
        exported = torch.export.export(QuantizedLinear(weight, None), (torch.rand(1, 64),))
    program = to_edge(exported).to_backend(XnnpackPartitioner())
    assert not program.remarks
    assert not program.to_executorch().kernel_names


def test_weights_apart(case: Case) -> None:
    """Both runtimes compute with the pair, to the bit, what they do with the whole file. No weights are there twice."""
    program, weights = (case.path.parent / f"apart.{suffix}" for suffix in ("pte", "ptd"))
    pair = stock_logits(TOKENS, program, weights)
    assert torch.equal(pair, stock_logits(TOKENS, case.path))
    assert torch.isfinite(pair).all()
    assert torch.equal(logits_of(program, PROMPT, REST, weights), logits_of(case.path, PROMPT, REST))
    for module in case.graph.modules():
        weight = getattr(module, "quantized", None)
        if isinstance(weight, Int8Weight):
            integers = weight.integers.numpy().tobytes()
            assert (program.read_bytes().count(integers), weights.read_bytes().count(integers)) == (0, 1)
