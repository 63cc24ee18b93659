"""A tokenizer of a GGUF file's metadata, as Hugging Face's `tokenizers` has it.

What texts are split at before pairs are merged is named by `tokenizer.ggml.pre`. The patterns are those of the models'
own `tokenizer.json`: GPT-2's, with digits by themselves for SmolLM; Llama 3's, with up to three digits together; and
Qwen2's.
"""

from __future__ import annotations

from typing import Any

from xir.llm.errors import LlmError, required
from xir.llm.gguf.reader import GgufFile

_CONTROL, _USER_DEFINED = 3, 4
"""Types of tokens that are found in a text before it is split."""

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_PATTERNS = {"llama-bpe": _WORDS.replace("DIGITS", "{1,3}"), "qwen2": _WORDS.replace("DIGITS", "")}
_GPT2 = {"gpt-2": False, "smollm": True}
"""Whether digits are tokens by themselves."""


def read_tokenizer(file: GgufFile) -> tuple[Any, dict[str, Any]]:
    """A `tokenizers.Tokenizer`, and what else a `tokenizer_config.json` says. LlmError for a kind that is not read."""
    kind = file.expect("tokenizer.ggml.model", str)
    before = file.metadata.get("tokenizer.ggml.pre", "gpt-2")
    if kind != "gpt2" or before not in (*_PATTERNS, *_GPT2):
        raise LlmError(
            f"{file.path}: its tokenizer, '{kind}' with '{before}', is not read from GGUF: give the model's "
            "tokenizer.json by --tokenizer"
        )
    tokens = file.expect("tokenizer.ggml.tokens", list)
    merges = [tuple(each.split(" ", 1)) for each in file.expect("tokenizer.ggml.merges", list)]
    library: Any = required("tokenizers")
    parts = library.pre_tokenizers
    try:
        model = library.models.BPE(
            {token: index for index, token in enumerate(tokens)}, merges, ignore_merges=before == "llama-bpe"
        )
    except Exception as error:  # the library raises Exception itself
        raise LlmError(f"{file.path}: its tokenizer is damaged: {error}") from error
    tokenizer = library.Tokenizer(model)
    if before in _PATTERNS:
        split = parts.Split(library.Regex(_PATTERNS[before]), "isolated")
        tokenizer.pre_tokenizer = parts.Sequence([split, parts.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        digits = [parts.Digits(individual_digits=True)] if _GPT2[before] else []
        tokenizer.pre_tokenizer = parts.Sequence([*digits, parts.ByteLevel(add_prefix_space=False)])
    if before == "qwen2":
        tokenizer.normalizer = library.normalizers.NFC()
    tokenizer.decoder = library.decoders.ByteLevel()
    for token, what in zip(tokens, file.metadata.get("tokenizer.ggml.token_type", []), strict=False):
        if what in (_CONTROL, _USER_DEFINED):
            add = tokenizer.add_special_tokens if what == _CONTROL else tokenizer.add_tokens
            add([library.AddedToken(token, special=what == _CONTROL, normalized=False)])
    config = _config(file, tokens)
    if file.metadata.get("tokenizer.ggml.add_bos_token", before == "llama-bpe") and "bos_token" in config:
        begin = config["bos_token"], tokens.index(config["bos_token"])
        tokenizer.post_processor = library.processors.TemplateProcessing(
            single=f"{begin[0]} $A", special_tokens=[begin]
        )
    return tokenizer, config


def _config(file: GgufFile, tokens: list[str]) -> dict[str, Any]:
    """The special tokens that the file names, and its template of conversations."""
    found: dict[str, Any] = {}
    for name, key in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")):
        index = file.metadata.get(f"tokenizer.ggml.{key}_token_id")
        if isinstance(index, int) and 0 <= index < len(tokens):
            found[f"{name}_token"] = tokens[index]
    template = file.metadata.get("tokenizer.chat_template")
    return found | ({"chat_template": template} if isinstance(template, str) else {})
