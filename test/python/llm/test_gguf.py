"""GGUF files as a source of models: their numbers, names and tokenizers, and files that are damaged."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from llm.gguf_files import TYPES, write_gguf
from llm.tiny_models import write_family

from xir.llm import LlmError, Tokenizer, load
from xir.llm.gguf.blocks import BLOCKS, dequantized
from xir.llm.gguf.reader import GgufFile
from xir.llm.huggingface.sources import load_model
from xir.llm.tiny import BEGIN, CHAT_TEMPLATE, END, TEXT, write_tokenizer
from xir.tools.xir_llm import main

SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": 400}
FAMILIES = {"Llama": "llama", "Qwen2": "qwen2", "Qwen3": "qwen3"}
NAMES = {
    "embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v",
    "o_proj": "attn_output", "q_norm": "attn_q_norm", "k_norm": "attn_k_norm", "gate_proj": "ffn_gate",
    "up_proj": "ffn_up", "down_proj": "ffn_down",
}  # fmt: skip


def interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    """Rows of queries or keys as llama.cpp's conversion orders those of Llama: i and i + half become neighbours."""
    found = np.empty_like(rows)
    size = len(rows) // heads
    for head in range(heads):
        for index in range(size // 2):
            for part in range(2):
                found[head * size + 2 * index + part] = rows[head * size + part * (size // 2) + index]
    return found


def tensors_of(model: Any, kind: str) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    config = model.config
    for name, value in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        *path, what = name.split(".")
        short = next(NAMES[each] for each in (".".join(path[-2:]), path[-1]) if each in NAMES)
        prefix = f"blk.{path[2]}." if "layers" in path else ""
        numbers = value.detach().numpy()
        if kind == "llama" and short in ("attn_q", "attn_k"):
            numbers = interleaved(
                numbers, config.num_attention_heads if short == "attn_q" else config.num_key_value_heads
            )
        found[f"{prefix}{short}.{what}"] = numbers
    return found


def metadata_of(model: Any, kind: str) -> dict[str, Any]:
    config = model.config
    return {
        "general.architecture": kind,
        f"{kind}.block_count": config.num_hidden_layers,
        f"{kind}.context_length": config.max_position_embeddings,
        f"{kind}.embedding_length": config.hidden_size,
        f"{kind}.feed_forward_length": config.intermediate_size,
        f"{kind}.attention.head_count": config.num_attention_heads,
        f"{kind}.attention.head_count_kv": config.num_key_value_heads,
        f"{kind}.attention.key_length": getattr(config, "head_dim", config.hidden_size // config.num_attention_heads),
        f"{kind}.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        f"{kind}.rope.freq_base": config.rope_parameters["rope_theta"],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_that_of_its_folder(family: str, tmp_path: Path) -> None:
    """transformers computes the same of both, also with positions turned."""
    model, kind = write_family(family, tmp_path, **SIZES), FAMILIES[family]
    tensors = {name: ("F32", value) for name, value in tensors_of(model, kind).items()}
    write_gguf(tmp_path / "model.gguf", metadata_of(model, kind), tensors)
    found = load_model(tmp_path / "model.gguf")
    tokens = torch.tensor([[1, 17, 93, 4, 58, 111, 23, 140]])
    with torch.no_grad():
        torch.testing.assert_close(found.model(input_ids=tokens).logits, model(input_ids=tokens).logits)
    assert (found.bos_id, found.eos_ids, found.max_positions) == (1, (2,), 128)


@pytest.mark.parametrize("kind", TYPES)
def test_numbers_of_each_type(kind: str, tmp_path: Path) -> None:
    """As near as the type allows, at their places, beside tensors of other sizes."""
    values = np.random.default_rng(0).standard_normal((3, 5, 64)).astype("f4")
    other = np.arange(6, dtype="f4").reshape(2, 3)
    write_gguf(tmp_path / "a.gguf", {"general.name": "a"}, {"other": ("F32", other), "values": (kind, values)})
    file = GgufFile(tmp_path / "a.gguf")
    assert file.metadata["general.name"] == "a"
    np.testing.assert_array_equal(file.array("other"), other)
    off = {"F32": 0, "F16": 2e-3, "BF16": 2e-2, "Q8_0": 2e-2, "Q4_0": 0.3, "Q4_1": 0.2}[kind]
    found = file.array("values")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, values, rtol=0, atol=off)


def bit(content: bytes, index: int) -> int:
    return content[index // 8] >> index % 8 & 1


def element(kind: int, block: bytes, index: int) -> float:
    """An element of a block, by the formulas of ggml's `dequantize_row_…`."""
    half = lambda at: float(np.frombuffer(block[at : at + 2], "<f2")[0])  # noqa: E731
    signed = lambda at: struct.unpack("b", block[at : at + 1])[0]  # noqa: E731
    nibble = lambda at: block[at + index % 16] >> (4 if index >= 16 else 0) & 15  # noqa: E731
    match kind:
        case 6:
            return half(0) * (nibble(6) + 16 * bit(block[2:6], index) - 16)
        case 7:
            return half(0) * (nibble(8) + 16 * bit(block[4:8], index)) + half(2)
        case 12:
            part, scales = index // 32, block[4:16]
            if part < 4:
                factor, least = scales[part] & 63, scales[part + 4] & 63
            else:
                factor = scales[part + 4] & 15 | scales[part - 4] >> 6 << 4
                least = scales[part + 4] >> 4 | scales[part] >> 6 << 4
            integer = block[16 + index // 64 * 32 + index % 32] >> (4 if index // 32 % 2 else 0) & 15
            return half(0) * factor * integer - half(2) * least
        case 14:
            upper, within = index // 128, index % 128
            low = block[upper * 64 + within % 64] >> (4 if within >= 64 else 0) & 15
            high = block[128 + upper * 32 + within % 32] >> 2 * (within // 32) & 3
            return half(208) * signed(192 + index // 16) * ((low | high << 4) - 32)
        case _:
            raise NotImplementedError(kind)


@pytest.mark.parametrize("kind", [6, 7, 12, 14])
def test_blocks_by_their_formulas(kind: int) -> None:
    block = BLOCKS[kind]
    content = np.random.default_rng(kind).integers(0, 256, (4, block.bytes), dtype=np.uint8)
    for at in (0, 2, 208):  # scales, which must be finite
        if at + 2 <= block.bytes and (at < 4 or kind == 14):
            content[:, at : at + 2] = np.frombuffer(np.float16(0.37 + at).tobytes(), np.uint8)
    wanted = [element(kind, row.tobytes(), index) for row in content for index in range(block.elements)]
    np.testing.assert_allclose(dequantized(content.ravel(), kind), wanted, rtol=1e-5, atol=1e-5)


@pytest.fixture(name="file")
def fixture_file(tmp_path: Path) -> Path:
    """A Llama with the tokenizer of the tiny model, weights of several types."""
    tokenizer = write_tokenizer(tmp_path)
    content = (tmp_path / "tokenizer.json").read_text()
    model = write_family("Llama", tmp_path, **SIZES | {"vocab_size": tokenizer.get_vocab_size()})
    tokens = [tokenizer.id_to_token(index) for index in range(tokenizer.get_vocab_size())]
    merges = [" ".join(each) for each in json.loads(content)["model"]["merges"]]
    metadata = metadata_of(model, "llama") | {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.token_type": [3 if token.startswith("<|") else 1 for token in tokens],
        "tokenizer.ggml.bos_token_id": tokens.index(BEGIN),
        "tokenizer.ggml.eos_token_id": tokens.index(END),
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }
    kinds = {"attn_q": "Q8_0", "ffn_up": "F16", "ffn_down": "Q4_1", "ffn_gate": "Q4_0", "attn_v": "BF16"}
    tensors = {
        name: (kinds.get(name.split(".")[-2], "F32"), value) for name, value in tensors_of(model, "llama").items()
    }
    write_gguf(tmp_path / "net.gguf", metadata, tensors)
    return tmp_path / "net.gguf"


def test_the_tokenizer_is_that_of_the_folder(file: Path) -> None:
    found, wanted = Tokenizer(file), Tokenizer(file.parent)
    for text in (TEXT, "Don't  split 1234 here:\n\n\tänd »ünicode« 漢字 🙂", f"{BEGIN}inside{END}", ""):
        assert found.encode(text) == wanted.encode(text)
        assert found.decode(found.encode(text)) == wanted.decode(wanted.encode(text))
    conversation: Any = [{"role": "user", "content": "What?"}]
    assert found.chat(conversation) == wanted.chat(conversation)


def test_a_file_is_exported_and_runs(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "net.pte"
    assert main(["export", str(file), "-o", str(output), "--max-seq-len", "16"]) == 0
    assert main(["run", str(output), "--tokenizer", str(file), "--prompt", "A", "--max-new-tokens", "3"]) == 0
    assert capsys.readouterr().err.count("tokens/s") == 2
    model: Any = load_model(file).model
    answer = load(output, threads=1).generate([1, 5, 9], max_new_tokens=4)
    with torch.no_grad():
        wanted = model.generate(torch.tensor([[1, 5, 9]]), max_new_tokens=4, do_sample=False)[0, 3:].tolist()
    assert answer.tokens == wanted[: len(answer.tokens)]
    assert len(answer.tokens) == 4 or wanted[len(answer.tokens)] in model.config.eos_token_id


def test_every_cut_is_one_diagnostic(file: Path, tmp_path: Path) -> None:
    """Wherever a download stops."""
    content = file.read_bytes()
    part = tmp_path / "part.gguf"
    for end in (*range(0, 200, 7), *range(200, len(content) - 1, 1 + len(content) // 40)):
        part.write_bytes(content[:end])
        with pytest.raises(LlmError, match=r"part\.gguf"):
            GgufFile(part)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"GGML" + content[4:], "begins with b'GGML'"),
        (lambda content: content[:4] + struct.pack("<I", 9) + content[8:], "GGUF version 9 is not known"),
        (lambda content: content[:24] + struct.pack("<Q", 2**60) + content[32:], "damaged: byte 32 wants"),
        (lambda content: content[:16] + struct.pack("<Q", 2**40) + content[24:], "damaged|unknown type|no UTF-8"),
    ],
)
def test_damaged_heads(change: Any, message: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(change(file.read_bytes()))
    assert main(["export", str(file), "-o", str(file.with_suffix(".pte"))]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("xir-llm: error: ")
    with pytest.raises(LlmError, match=message):
        GgufFile(file)
    assert not file.with_suffix(".pte").exists()


@pytest.mark.parametrize(
    ("metadata", "tensors", "message"),
    [
        ({"general.architecture": "mamba"}, {}, "'mamba' are not read; those that are: llama, qwen2, qwen3"),
        ({"llama.rope.scaling.type": "yarn"}, {}, "scaled positions are not read"),
        ({"llama.expert_count": 8}, {}, "experts are not read"),
        ({"llama.block_count": 3}, {}, "weight 'model.layers.2.* is missing"),
        ({"llama.block_count": "two"}, {}, "metadata 'llama.block_count' is 'two', of another type"),
        ({}, {"blk.0.ssm_a.weight": np.zeros((2, 2), "f4")}, "tensor 'blk.0.ssm_a.weight' is not known"),
        ({}, {"blk.0.ffn_up.weight": np.zeros((2, 2), "f4")}, r"up_proj.weight' is \(2, 2\), where llama has"),
    ],
)
def test_models_that_are_not_read(
    metadata: dict[str, Any], tensors: dict[str, np.ndarray], message: str, tmp_path: Path
) -> None:
    model = write_family("Llama", tmp_path, **SIZES)
    every = tensors_of(model, "llama") | tensors
    head = metadata_of(model, "llama") | metadata
    write_gguf(tmp_path / "a.gguf", head, {name: ("F32", value) for name, value in every.items()})
    with pytest.raises(LlmError, match=message):
        load_model(tmp_path / "a.gguf")


def test_tokenizers_that_are_not_read(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf", {"tokenizer.ggml.model": "llama"}, {})
    with pytest.raises(LlmError, match=r"give the model's tokenizer\.json by --tokenizer"):
        Tokenizer(tmp_path / "a.gguf")
