"""Decoders of transformers without caches, for texts of any length: one delegate, eager's logits in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import pytest
import torch
from reference.runtimes import agree
from torch import Tensor, nn
from torch.export import Dim

from bench.encoders import kernel_calls
from xir.api import XnnpackPartitioner, to_edge
from xir.llm.huggingface.checkpoint import import_transformers
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")

LENGTHS = (2, 3, 5, 8, 13, 21, 47, 64)
MAX_BATCH, VOCABULARY = 4, 100
SIZE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": max(LENGTHS),
    "use_cache": False,
}


def llama(transformers: Any, **options: Any) -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZE, **options))


def qwen2(transformers: Any, **options: Any) -> Any:
    return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**SIZE, **options))


def qwen3(transformers: Any, **options: Any) -> Any:
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZE, head_dim=8, **options))


def mistral(transformers: Any, **options: Any) -> Any:
    """Its window is shorter than most of the texts."""
    return transformers.MistralForCausalLM(transformers.MistralConfig(**SIZE, sliding_window=8, **options))


def gpt2(transformers: Any, **options: Any) -> Any:
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": max(LENGTHS), "use_cache": False}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=VOCABULARY, **sizes, **options))


DECODERS: Mapping[str, Callable[..., Any]] = {
    "llama": llama,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "mistral": mistral,
    "gpt2": gpt2,
}


class Logits(nn.Module):
    """A language model's logits alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.model(input_ids=tokens, attention_mask=mask).logits


def texts(batch: int, length: int, padded: bool) -> tuple[Tensor, ...]:
    """Tokens, and with `padded` a mask that hides some at the end of each text but the first."""
    tokens = torch.randint(0, VOCABULARY, (batch, length))
    counts = torch.tensor([max(length - 2 * number, 1) for number in range(batch)])
    return (tokens, (torch.arange(length) < counts[:, None]).long()) if padded else (tokens,)


def forms() -> Iterator[Any]:
    """Each decoder with and without padding, one text and several, and either attention: any two of these together with
    some decoder. `make test-zoo` runs the rest.
    """
    for (turn, name), attention, batch, padded in product(
        enumerate(DECODERS), ("sdpa", "eager"), (False, True), (False, True)
    ):
        is_quick = (attention == "sdpa") ^ batch ^ padded
        is_quick &= (batch, padded) == (turn % 2, turn // 2 % 2)
        marks = () if is_quick else pytest.mark.exhaustive
        words = name, attention, "batch" if batch else "one", "mask" if padded else "tokens"
        yield pytest.param(name, attention, batch, padded, id="-".join(words), marks=marks)


@pytest.mark.parametrize(("name", "attention", "batch", "padded"), list(forms()))
def test_open_lengths(name: str, attention: str, batch: bool, padded: bool) -> None:
    """Outside of the delegate are the look-up of tokens, and the conversion of the padding mask's integers.

    Without a mask transformers looks for several texts in a row by their positions, which are known to be those of one.
    """
    torch.manual_seed(0)
    model = Logits(DECODERS[name](import_transformers(), attn_implementation=attention)).eval()
    sizes = {1: Dim("length", min=2, max=max(LENGTHS))} | ({0: Dim("batch", min=1, max=MAX_BATCH)} if batch else {})
    example = texts(2 if batch else 1, 7, padded)
    with torch.no_grad():
        exported = torch.export.export(model, example, dynamic_shapes=(sizes,) * len(example))
    program = to_edge(exported).to_backend(XnnpackPartitioner()).to_executorch()
    file = program.buffer
    assert Runtime.get().load_program(file).load_method().metadata.num_delegates == 1
    assert kernel_calls(program) == [*["aten::_to_copy.out"] * padded, "aten::embedding.out"]
    counts = [1 + number % MAX_BATCH if batch else 1 for number in range(len(LENGTHS))]
    calls = (texts(count, length, padded) for count, length in zip(counts, LENGTHS, strict=True))
    agree(file, model, calls, atol=0, of_largest=2e-6)
