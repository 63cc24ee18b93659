"""Mixtures of experts of transformers, as they are, against eager in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from reference.runtimes import both
from torch import Tensor, nn
from torch.export import Dim

from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.dialects import edge
from xir.dialects.delegate import GraphOp
from xir.llm.huggingface.checkpoint import import_transformers
from xir.llm.huggingface.experts import DENSE, dense_experts

pytestmark = pytest.mark.filterwarnings("ignore")

SMALL: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
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


@pytest.mark.parametrize(
    ("build", "implementation"),
    [
        pytest.param(mixtral, None, id="mixtral"),
        pytest.param(qwen3, None, id="qwen3", marks=pytest.mark.exhaustive),
        pytest.param(qwen3, DENSE, id="dense"),
    ],
)
def test_experts_of_an_open_length(build: Callable[[], Any], implementation: str | None) -> None:
    torch.manual_seed(3)
    inner = build().eval().requires_grad_(False)
    model = Logits(inner)
    prompts = [torch.randint(100, (1, length)) for length in (7, 16, 2)]
    expected = [model(tokens) for tokens in prompts]  # by transformers' own implementation
    if implementation is not None:
        inner.set_experts_implementation(implementation)
    program = torch.export.export(model, (prompts[0],), dynamic_shapes=({1: Dim("length", min=2, max=16)},))
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    # The router's choice is a kernel; tokens are looked up before it.
    choices = ["edge.topk", "edge._to_copy"]
    assert outside(lowered) == ["edge.embedding", *choices]
    assert sum(isinstance(op, GraphOp) for op in lowered.module.walk()) == 2
    check(lowered, [(tokens,) for tokens in prompts], expected)


class Selecting(nn.Module):
    """Experts for the tokens of a choice that is an input, with what each counts."""

    def __init__(self, experts: nn.Module, count: int) -> None:
        super().__init__()
        self.experts, self.router = experts, nn.Linear(16, count)

    def forward(self, x: Tensor) -> Tensor:
        scores, chosen = torch.topk(self.router(x), 3)
        return self.experts(x, chosen, scores.softmax(-1))


def test_experts_with_biases_and_a_gate_of_every_other_number() -> None:
    transformers = import_transformers()
    modeling = import_module("transformers.models.gpt_oss.modeling_gpt_oss")
    torch.manual_seed(4)
    config = transformers.GptOssConfig(hidden_size=16, intermediate_size=12, num_local_experts=5)
    config._experts_implementation = "grouped_mm"
    experts = modeling.GptOssExperts(config)
    for parameter in experts.parameters():
        nn.init.normal_(parameter)
    model = Selecting(experts, 5).eval().requires_grad_(False)
    inputs = [(torch.randn(tokens, 16),) for tokens in (6, 1, 9)]
    program = torch.export.export(model, inputs[0], dynamic_shapes=({0: Dim("tokens", max=9)},))
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    assert outside(lowered) == ["edge.topk", "edge._to_copy"]
    check(lowered, inputs, [model(*each) for each in inputs])


def test_dense_has_no_norm_of_results() -> None:
    tokens = torch.zeros(1, 1)
    with pytest.raises(ValueError, match="xir_dense has no norm of what each expert gives, as SimpleNamespace has"):
        dense_experts(SimpleNamespace(has_post_expert_norm=True), tokens, tokens, tokens)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.bfloat16, 2e-2), pytest.param(torch.float16, 2e-3, marks=pytest.mark.exhaustive)]
)
def test_experts_in_16_bits(dtype: torch.dtype, tolerance: float) -> None:
    """No further from fp32 than eager's own, by twice; `tolerance` is what that may be at all."""
    torch.manual_seed(5)
    inner = mixtral().eval().requires_grad_(False)
    model, tokens = Logits(inner), torch.randint(100, (1, 9))
    exact = model(tokens)
    inner.to(dtype)
    own = (model(tokens).float() - exact).norm() / exact.norm()
    lowered = to_edge(torch.export.export(model, (tokens,))).to_backend(XnnpackPartitioner())
    assert not {"edge.sort", "edge.opaque"}.intersection(outside(lowered))
    buffer = lowered.to_executorch().buffer
    for run in both(buffer):
        error = (run([tokens])[0].float() - exact).norm() / exact.norm()
        assert error < 2 * own < tolerance


def test_without_a_delegate() -> None:
    """Stock ExecuTorch has kernels for all of it."""
    torch.manual_seed(6)
    model, tokens = Logits(mixtral().eval().requires_grad_(False)), torch.randint(100, (1, 5))
    check(to_edge(torch.export.export(model, (tokens,))), [(tokens,)], [model(tokens)])


def outside(program: EdgeProgram) -> list[str]:
    """The ops outside of delegates, in order."""
    ops = (op for op in program.module.walk() if isinstance(op, edge.EdgeOp) and not isinstance(op, edge.ConstantOp))
    return [op.name for op in ops]


def check(program: EdgeProgram, inputs: Sequence[tuple[Tensor, ...]], expected: Sequence[Tensor]) -> None:
    """Compare a program with eager, in both runtimes."""
    buffer = program.to_executorch().buffer
    runs = both(buffer)
    for given, wanted in zip(inputs, expected, strict=True):
        for outputs in (run(given) for run in runs):
            torch.testing.assert_close(outputs[0], wanted, rtol=1e-4, atol=1e-5)
