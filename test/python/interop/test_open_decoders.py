"""Decoders of transformers without caches, for texts of any length: one delegate, eager's logits in both runtimes."""

from __future__ import annotations

import pytest
import torch
from llm.tiny_models import tiny_model
from reference.both_runtimes import lower
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor
from torch.export import Dim

from bench.encoders import kernel_calls
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")

LENGTHS = (2, 3, 5, 8, 13, 21, 47, 64)
MAX_BATCH, VOCABULARY = 4, 160


def texts(batch: int, length: int, padded: bool) -> tuple[Tensor, ...]:
    """Tokens, and with `padded` a mask that hides some at the end of each text but the first."""
    tokens = torch.randint(0, VOCABULARY, (batch, length))
    counts = torch.tensor([max(length - 2 * number, 1) for number in range(batch)])
    return (tokens, (torch.arange(length) < counts[:, None]).long()) if padded else (tokens,)


@pytest.mark.parametrize(
    ("family", "attention", "batch", "padded"),
    [
        ("Llama", "sdpa", False, False),
        ("Qwen2", "eager", True, False),
        ("Qwen3", "eager", False, True),
        # Its window is shorter than most of the texts.
        ("Mistral", "sdpa", True, True),
        ("GPT2", "sdpa", False, False),
    ],
)
def test_open_lengths(family: str, attention: str, batch: bool, padded: bool) -> None:
    """With and without padding, one text and several, and either attention: any two of these with some decoder.

    Outside of the delegate are the look-up of tokens, and the conversion of the padding mask's integers.

    Without a mask transformers looks for several texts in a row by their positions, which are known to be those of one.
    """
    decoder = tiny_model(family, attn_implementation=attention, use_cache=False, initializer_range=0.02)
    forward = {False: lambda m, tokens: m.decoder(tokens).logits, True: lambda m, x, mask: m.decoder(x, mask).logits}
    model = Calling(forward[padded], decoder=decoder).eval()
    sizes = {1: Dim("length", min=2, max=max(LENGTHS))} | ({0: Dim("batch", min=1, max=MAX_BATCH)} if batch else {})
    example = texts(2 if batch else 1, 7, padded)
    program = lower(model, example, (sizes,) * len(example)).to_executorch()
    file = program.buffer
    assert Runtime.get().load_program(file).load_method().metadata.num_delegates == 1
    assert kernel_calls(program) == [*["aten::_to_copy.out"] * padded, "aten::embedding.out"]
    counts = [1 + number % MAX_BATCH if batch else 1 for number in range(len(LENGTHS))]
    calls = (texts(count, length, padded) for count, length in zip(counts, LENGTHS, strict=True))
    agree(file, model, calls, atol=0, of_largest=2e-6)
