"""A language model to try things with, made in seconds and without a network: `python -m xir.llm.tiny FOLDER`.

It is a Llama of two layers in the form of Hugging Face's folders, with a tokenizer and a chat template. It knows one
text, and the answer to one question, by heart.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from xir.llm.errors import LlmError, required
from xir.llm.huggingface.checkpoint import import_transformers, quiet
from xir.torch_threads import one_thread

TEXT = (
    "A compiler reads a program and writes another one that computes the same. It does so in small steps, and each "
    "step can be read, tested and replaced. What a step does not know, it leaves alone, and says why."
)
"""What it knows."""
QUESTION, ANSWER = "What does a compiler do?", "It writes another program that computes the same."

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}"
    "{% if message.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
BEGIN, END = "<|begin|>", "<|end|>"
SPECIAL = (BEGIN, END, "<|user|>", "<|assistant|>", "<|system|>")
STEPS = 120


def write_tokenizer(folder: Path) -> Any:
    """A byte-pair tokenizer learnt from the texts, into `tokenizer.json` and `tokenizer_config.json`; returns it."""
    tokenizers: Any = required("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(SPECIAL), initial_alphabet=sorted(alphabet), show_progress=False
    )
    tokenizer.train_from_iterator([TEXT, QUESTION, ANSWER], trainer)
    begin = (BEGIN, tokenizer.token_to_id(BEGIN))
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[begin])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"bos_token": BEGIN, "eos_token": END, "chat_template": CHAT_TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return tokenizer


def write_model(folder: Path) -> None:
    """The folder's model, taught its texts."""
    transformers = import_transformers()
    tokenizer = write_tokenizer(folder)
    eos = tokenizer.token_to_id(END)
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=256, tie_word_embeddings=True,
            bos_token_id=tokenizer.token_to_id(BEGIN), eos_token_id=eos, pad_token_id=eos,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config)
        chat = f"{BEGIN}<|user|>{QUESTION}<|assistant|>{ANSWER}"
        texts = [[*tokenizer.encode(TEXT).ids, eos], [*tokenizer.encode(chat, add_special_tokens=False).ids, eos]]
        with one_thread():
            _teach(model, texts)
        model.save_pretrained(folder)


def _teach(model: Any, texts: Sequence[Sequence[int]]) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=STEPS)
    for _ in range(STEPS):
        losses = [model(input_ids=tokens, labels=tokens).loss for tokens in map(_batch, texts)]
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        optimizer.step()
        schedule.step()


def _batch(tokens: Sequence[int]) -> torch.Tensor:
    return torch.tensor([tokens])


def main(arguments: Sequence[str]) -> int:
    """Write the model to the folder that is the one argument."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m xir.llm.tiny FOLDER\n")
        return 1
    folder = Path(arguments[0])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_model(folder)
    except LlmError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"error: {error.filename}: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
