"""Small models of the families that docs/llm.md names, with random weights, as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from xir.llm.huggingface.checkpoint import import_transformers, quiet

COMMON: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 160, "max_position_embeddings": 128, "bos_token_id": 1,
    "eos_token_id": 2, "pad_token_id": 0, "initializer_range": 0.15, "tie_word_embeddings": False,
}  # fmt: skip
TWO_LAYERS: dict[str, Any] = {"num_hidden_layers": 2}
"""Where layers differ, or what one does depends on another. Elsewhere a second one takes time and shows nothing."""
WINDOWED: dict[str, Any] = {
    **TWO_LAYERS, "head_dim": 16, "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"],
}  # fmt: skip

FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": {"rope_theta": 500000.0, "tie_word_embeddings": True},
    "SmolLM3": {**TWO_LAYERS, "no_rope_layers": [1, 0]},
    "Qwen2": {"tie_word_embeddings": True},
    "Qwen3": {"head_dim": 32},
    "Gemma2": {**WINDOWED, "tie_word_embeddings": True, "query_pre_attn_scalar": 16},
    "Gemma3Text": {**WINDOWED, "tie_word_embeddings": True, "query_pre_attn_scalar": 16},
    "Mistral": {"sliding_window": 8},
    "Phi3": {"sliding_window": None},
}
"""What the configuration has beyond `COMMON`, of families that have something. The first SmolLM models are Llamas."""


def tiny_model(family: str, **sizes: Any) -> Any:
    """A model with random weights; `sizes` are what differs from the family's."""
    transformers = import_transformers()
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(1)
        config = getattr(transformers, f"{family}Config")(**COMMON | FAMILIES.get(family, {}) | sizes)
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        for name, value in model.named_parameters():
            if name.endswith("bias"):
                torch.nn.init.normal_(value, std=0.1)
    return model


def write_family(family: str, folder: Path, **sizes: Any) -> Any:
    """Write the folder of a model, without a tokenizer, and return the model that it holds."""
    model = tiny_model(family, **sizes)
    with quiet():
        model.save_pretrained(folder)
    return model
