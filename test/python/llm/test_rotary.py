"""Rotary positions whose frequencies depend on the length of a text: those of transformers for the caches' length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from llm.logits import PROMPT, expected, logits_of
from llm.tiny_models import COMMON
from torch.testing import assert_close

from xir.llm import ExportOptions, export
from xir.llm.huggingface.checkpoint import import_transformers, quiet

ORIGINAL, FREQUENCIES = 32, 8
LONGROPE: dict[str, Any] = {
    "rope_type": "longrope",
    "original_max_position_embeddings": ORIGINAL,
    "short_factor": [1.0 + 0.1 * i for i in range(FREQUENCIES)],
    "long_factor": [2.0 + 0.5 * i for i in range(FREQUENCIES)],
}


def write_model(name: str, folder: Path, rope: dict[str, Any]) -> Any:
    transformers = import_transformers()
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(1)
        others = {"sliding_window": None, "original_max_position_embeddings": ORIGINAL} if name == "Phi3" else {}
        config = getattr(transformers, f"{name}Config")(**COMMON, **others, rope_scaling={"rope_theta": 1e4, **rope})
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        model.save_pretrained(folder)
    return model


@pytest.mark.parametrize(("name", "rope"), [("Phi3", LONGROPE), ("Llama", {"rope_type": "dynamic", "factor": 2.0})])
def test_short_texts(tmp_path: Path, name: str, rope: dict[str, Any]) -> None:
    model = write_model(name, tmp_path, rope)
    export(tmp_path, tmp_path / "model.pte", ExportOptions(max_seq_len=ORIGINAL, prefill_len=16))
    tokens, logits = expected(model, PROMPT, 20)
    assert_close(logits_of(tmp_path / "model.pte", PROMPT, tokens), logits, rtol=1e-3, atol=2e-4)


def test_long_texts(tmp_path: Path) -> None:
    """Where caches hold more than the first training's texts, every position is that of a long one."""
    model = write_model("Phi3", tmp_path, LONGROPE)
    export(tmp_path, tmp_path / "model.pte", ExportOptions(max_seq_len=ORIGINAL + 16, prefill_len=16))
    text = [*PROMPT, *(7 * i % 150 + 3 for i in range(ORIGINAL))]
    with torch.no_grad():
        logits = model(torch.tensor([text])).logits[0]
        assert (model(torch.tensor([text[:20]])).logits[0] - logits[:20]).abs().max() > 0.01
    found = logits_of(tmp_path / "model.pte", PROMPT, text[len(PROMPT) :])
    assert_close(found, logits[len(PROMPT) - 1 : -1], rtol=1e-3, atol=2e-4)
