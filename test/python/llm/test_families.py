"""Models of transformers, by its own code: the tokens of its `generate`, with the same logits, also in stock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from llm.logits import PROMPT, expected, logits_of, stock_logits
from llm.tiny_models import FAMILIES, TWO_LAYERS, write_family
from reference.runtimes import load_stock

from xir.llm import ExportOptions, LanguageModel, LlmError, export, load

WINDOW = 48
TOKENS = WINDOW - len(PROMPT)
OPTIONS = ExportOptions(max_seq_len=WINDOW, prefill_len=16)
"""Layers that look back by 8 tokens have rings of 23 slots, which all texts here go round."""

LIKE_OTHERS = {"Gemma3Text", "Mistral", "Qwen2", "Qwen3"}
"""For `make test-zoo`: `test_caches.py` runs the first, the second has but its window, `test_halves.py` runs Qwen2 and
`test_quantized_weights.py` Qwen3."""


def families(*quick: str) -> list[Any]:
    """All families; `make test` takes those that are named."""
    return [each if each in quick else pytest.param(each, marks=pytest.mark.exhaustive) for each in FAMILIES]


@pytest.fixture(scope="module", params=families(*(FAMILIES.keys() - LIKE_OTHERS)))
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A model, and the file that it becomes."""
    folder = tmp_path_factory.mktemp(request.param)
    model = write_family(request.param, folder)
    export(folder, folder / "model.pte", OPTIONS)
    return model, folder / "model.pte"


def test_prefill_and_decode_compute_what_the_model_does(family: tuple[Any, Path]) -> None:
    """More tokens than a layer with a sliding window sees."""
    model, path = family
    tokens, logits = expected(model, PROMPT, TOKENS)
    torch.testing.assert_close(logits_of(path, PROMPT, tokens), logits, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("family", families("Llama"), indirect=True)
def test_decode_by_a_kernel_of_its_own(family: tuple[Any, Path], tmp_path: Path) -> None:
    """For xir's runtime, attention of a step reads the caches where they are, and so does not for stock's."""
    model, path = family
    export(path.parent, tmp_path / "model.pte", replace(OPTIONS, target="xir"))
    tokens, logits = expected(model, PROMPT, TOKENS)
    torch.testing.assert_close(logits_of(tmp_path / "model.pte", PROMPT, tokens), logits, rtol=1e-3, atol=2e-4)
    is_capped = getattr(model.config, "attn_logit_softcapping", None) is not None
    assert (b"xir::attend_prefix" in (tmp_path / "model.pte").read_bytes()) != is_capped
    assert b"xir::attend_prefix" not in path.read_bytes()


@pytest.mark.parametrize("family", families("Llama", "Gemma2"), indirect=True)
def test_tokens_are_those_of_transformers(family: tuple[Any, Path]) -> None:
    """A prompt that goes through prefill in parts of 16, 16 and 1 as well. An answer ends at the model's own token."""
    model, path = family
    loaded = load(path, threads=1)
    for prompt in (PROMPT, [1, *range(30, 62)]):
        wanted, _ = expected(model, prompt, WINDOW - len(prompt))
        ends = model.config.eos_token_id in wanted
        found = loaded.generate(prompt)
        assert found.tokens == (wanted[: wanted.index(model.config.eos_token_id)] if ends else wanted)
        assert found.reason == ("stop" if ends else "length")


@pytest.mark.parametrize("family", families("Gemma2"), indirect=True)
def test_stock_runs_the_file(family: tuple[Any, Path]) -> None:
    model, path = family
    tokens, logits = expected(model, PROMPT, 4)
    found = stock_logits([*PROMPT, *tokens[:-1]], path)[len(PROMPT) - 1 :]
    torch.testing.assert_close(found, logits, rtol=1e-3, atol=2e-4)
    stock: Any = load_stock(path)
    (prefilled,) = stock.run_method("prefill", (torch.tensor([PROMPT]), torch.arange(len(PROMPT))))
    torch.testing.assert_close(prefilled[0], logits[:1], rtol=1e-3, atol=2e-4)
    assert stock.run_method("get_max_context_len", ()) == [WINDOW]
    assert stock.run_method("get_eos_ids", ()) == [model.config.eos_token_id]


@pytest.mark.parametrize("family", families("Gemma2"), indirect=True)
def test_two_generations_at_once(family: tuple[Any, Path]) -> None:
    model, path = family
    loaded: LanguageModel = load(path, threads=1)
    prompts = [PROMPT, [1, 5, 9]]
    streams = [loaded.stream(prompt, max_new_tokens=12) for prompt in prompts]
    for _ in range(12):
        for stream in streams:
            next(stream, None)
    for prompt, stream in zip(prompts, streams, strict=True):
        wanted, _ = expected(model, prompt, 12)
        assert stream.generation.tokens == wanted[: len(stream.generation.tokens)]
        assert len(stream.generation.tokens) == 12 or wanted[len(stream.generation.tokens)] == 2


@pytest.mark.parametrize(
    "name", ["Falcon", *(pytest.param(each, marks=pytest.mark.exhaustive) for each in ("GPT2", "GPTNeoX", "Persimmon"))]
)
def test_heads_are_those_that_the_model_writes(name: str, tmp_path: Path) -> None:
    """Their configurations say that there are two heads of keys and values: Falcon has one, the others four."""
    model = write_family(name, tmp_path)
    assert model.config.num_key_value_heads == 2
    path = tmp_path / "model.pte"
    export(tmp_path, path, OPTIONS)
    tokens, logits = expected(model, PROMPT, TOKENS)
    torch.testing.assert_close(logits_of(path, PROMPT, tokens), logits, rtol=1e-3, atol=2e-4)


def test_a_model_without_keys_and_values_is_refused(tmp_path: Path) -> None:
    """Layers of convolutions keep another state."""
    write_family("Lfm2", tmp_path, **TWO_LAYERS, layer_types=["conv", "full_attention"])
    with pytest.raises(LlmError, match="layer 0 has a cache of another kind than keys and values"):
        export(tmp_path, tmp_path / "model.pte", OPTIONS)
    assert not (tmp_path / "model.pte").exists()
