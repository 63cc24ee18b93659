"""Models of GGUF files, as transformers' own code has them.

Names of tensors and metadata are those of the specification (docs/gguf.md of ggml-org/ggml) and of llama.cpp's
conversion, which stores the rows of Llama's queries and keys so that the two numbers that a position turns are
neighbours; transformers has them half a head apart.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xir.llm.errors import LlmError
from xir.llm.gguf.reader import GgufFile
from xir.llm.huggingface.checkpoint import Checkpoint, import_transformers, quiet

_KINDS = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}
"""By the architecture of the file, the beginning of transformers' classes."""

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def load_gguf(path: str | os.PathLike[str]) -> Checkpoint:
    """The model of a file, its weights as fp32. LlmError for an architecture that is not read, or a damaged file."""
    file = GgufFile(path)
    kind = file.expect("general.architecture", str)
    if kind not in _KINDS:
        raise LlmError(
            f"{file.path}: models of the architecture '{kind}' are not read; those that are: {', '.join(_KINDS)}"
        )
    _refuse(file, kind)
    transformers = import_transformers()
    config = getattr(transformers, f"{_KINDS[kind]}Config")(**_config(file, kind))
    weights = dict(_weight(file, name, kind, config) for name in file.tensors)
    model = _empty_model(getattr(transformers, f"{_KINDS[kind]}ForCausalLM"), config)
    if config.tie_word_embeddings:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    for name in (*wanted, *weights):
        shape = tuple(weights[name].shape) if name in weights else None
        if shape != wanted.get(name):
            raise LlmError(f"{file.path}: weight '{name}' is {shape or 'missing'}, where {kind} has {wanted.get(name)}")
    model.load_state_dict(weights, assign=True)
    model.tie_weights()
    eos = [file.metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot")]
    ends = tuple(dict.fromkeys(each for each in eos if isinstance(each, int)))
    bos = file.metadata.get("tokenizer.ggml.bos_token_id")
    return Checkpoint(model, config, config.max_position_embeddings, bos, ends)


def _empty_model(kind: Any, config: Any) -> Any:
    """A model of this class whose parameters are still on the device `meta`: random ones would take as much memory as
    those of the file do. The only buffers, frequencies of positions, have their values."""
    with quiet():
        with torch.device("meta"):
            model = kind(config).eval()
        model.model.rotary_emb = type(model.model.rotary_emb)(config)
    return model


def _refuse(file: GgufFile, kind: str) -> None:
    """LlmError for what changes results and is not read."""
    scaling = file.metadata.get(f"{kind}.rope.scaling.type", "none")
    if scaling != "none" or "rope_freqs.weight" in file.tensors:
        raise LlmError(f"{file.path}: scaled positions are not read from GGUF: export the model's Hugging Face folder")
    if file.metadata.get(f"{kind}.expert_count"):
        raise LlmError(f"{file.path}: experts are not read from GGUF: export the model's Hugging Face folder")


def _config(file: GgufFile, kind: str) -> dict[str, Any]:
    def number(name: str) -> int:
        return file.expect(f"{kind}.{name}", int)

    heads, width = number("attention.head_count"), number("embedding_length")
    if "token_embd.weight" not in file.tensors:
        raise LlmError(f"{file.path}: there is no tensor 'token_embd.weight'")
    return {
        "vocab_size": file.tensors["token_embd.weight"].shape[0],
        "hidden_size": width,
        "intermediate_size": number("feed_forward_length"),
        "num_hidden_layers": number("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": file.metadata.get(f"{kind}.attention.head_count_kv", heads),
        "head_dim": file.metadata.get(f"{kind}.attention.key_length", width // heads),
        "max_position_embeddings": number("context_length"),
        "rms_norm_eps": file.expect(f"{kind}.attention.layer_norm_rms_epsilon", float),
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": file.metadata.get(f"{kind}.rope.freq_base", 10000.0),
        },
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "attn_implementation": "sdpa",
    }


def _weight(file: GgufFile, name: str, kind: str, config: Any) -> tuple[str, Tensor]:
    """A tensor under transformers' name."""
    match = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)", name)
    found = _NAMES.get(match[2]) if match else None
    if match is None or found is None:
        raise LlmError(f"{file.path}: tensor '{name}' is not known in models of the architecture '{kind}'")
    value = file.array(name)
    if kind == "llama" and match[2] in ("attn_q", "attn_k"):
        heads = config.num_attention_heads if match[2] == "attn_q" else config.num_key_value_heads
        if len(value) % (2 * heads):
            raise LlmError(f"{file.path}: tensor '{name}' has {len(value)} rows, which {heads} heads do not divide")
        value = np.swapaxes(value.reshape(heads, -1, 2, *value.shape[1:]), 1, 2).reshape(value.shape)
    prefix = f"model.layers.{match[1]}." if match[1] else ""
    return f"{prefix}{found}.{match[3]}", torch.from_numpy(np.ascontiguousarray(value))
