"""Decoders of transformers without caches, for texts of any length: one delegate, eager's logits in both runtimes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from reference.modules import Calling
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


DECODERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", SIZE),
    "qwen2": ("Qwen2", SIZE),
    "qwen3": ("Qwen3", {**SIZE, "head_dim": 8}),
    # Its window is shorter than most of the texts.
    "mistral": ("Mistral", {**SIZE, "sliding_window": 8}),
}


def decoder(name: str, attention: str) -> nn.Module:
    transformers = import_transformers()
    if name == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": max(LENGTHS), "use_cache": False}
        config = transformers.GPT2Config(vocab_size=VOCABULARY, attn_implementation=attention, **sizes)
        return transformers.GPT2LMHeadModel(config)
    kind, sizes = DECODERS[name]
    config = getattr(transformers, f"{kind}Config")(attn_implementation=attention, **sizes)
    return getattr(transformers, f"{kind}ForCausalLM")(config)


def texts(batch: int, length: int, padded: bool) -> tuple[Tensor, ...]:
    """Tokens, and with `padded` a mask that hides some at the end of each text but the first."""
    tokens = torch.randint(0, VOCABULARY, (batch, length))
    counts = torch.tensor([max(length - 2 * number, 1) for number in range(batch)])
    return (tokens, (torch.arange(length) < counts[:, None]).long()) if padded else (tokens,)


@pytest.mark.parametrize(
    ("name", "attention", "batch", "padded"),
    [
        ("llama", "sdpa", False, False),
        ("qwen2", "eager", True, False),
        ("qwen3", "eager", False, True),
        ("mistral", "sdpa", True, True),
        ("gpt2", "sdpa", False, False),
    ],
)
def test_open_lengths(name: str, attention: str, batch: bool, padded: bool) -> None:
    """With and without padding, one text and several, and either attention: any two of these with some decoder.

    Outside of the delegate are the look-up of tokens, and the conversion of the padding mask's integers.

    Without a mask transformers looks for several texts in a row by their positions, which are known to be those of one.
    """
    forward = {False: lambda m, tokens: m.decoder(tokens).logits, True: lambda m, x, mask: m.decoder(x, mask).logits}
    model = Calling(forward[padded], decoder=decoder(name, attention)).eval()
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
