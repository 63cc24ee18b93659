"""Mixtures of experts of transformers, as they are, against eager in both runtimes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
from torch import Tensor, nn
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import edge
from xir.dialects.delegate import GraphOp
from xir.llm.huggingface.checkpoint import import_transformers
from xir.llm.huggingface.experts import DENSE
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")

SMALL: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "num_experts_per_tok": 2,
    "use_cache": False,
}


class Logits(nn.Module):
    """A language model's logits alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(tokens).logits


def mixtral() -> nn.Module:
    transformers = import_transformers()
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(**SMALL, num_local_experts=4))


def qwen3() -> nn.Module:
    transformers = import_transformers()
    config = transformers.Qwen3MoeConfig(**SMALL, num_experts=8, moe_intermediate_size=24, head_dim=8)
    return transformers.Qwen3MoeForCausalLM(config)


@pytest.mark.parametrize("build", [mixtral, qwen3])
def test_dense_experts_of_an_open_length(build: Callable[[], Any]) -> None:
    torch.manual_seed(3)
    inner = build().eval().requires_grad_(False)
    model = Logits(inner)
    prompts = [torch.randint(100, (1, length)) for length in (7, 16, 2)]
    expected = [model(tokens) for tokens in prompts]  # by transformers' own implementation
    inner.set_experts_implementation(DENSE)
    program = torch.export.export(model, (prompts[0],), dynamic_shapes=({1: Dim("length", min=2, max=16)},))
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    outside = [op.name for op in lowered.module.walk() if isinstance(op, edge.EdgeOp)]
    # The router's choice of each layer is a kernel, and so are masks of an open length, which come before.
    assert sum(isinstance(op, GraphOp) for op in lowered.module.walk()) == 3
    assert outside[-4:] == ["edge.topk", "edge._to_copy", "edge.topk", "edge._to_copy"]
    assert outside.count("edge.topk") == 2
    assert not {"edge.sort", "edge.index_put", "edge.opaque", "edge.gather"}.intersection(outside)
    buffer = lowered.to_executorch().buffer
    method, stock = Runtime.get().load_program(buffer).load_method(), _load_for_executorch_from_buffer(buffer)
    for tokens, wanted in zip(prompts, expected, strict=True):
        for outputs in (method.execute([tokens]), stock.forward([tokens])):
            torch.testing.assert_close(outputs[0], wanted, rtol=1e-4, atol=1e-5)
