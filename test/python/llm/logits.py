"""Logits of a language model: transformers', of a file in xir's runtime, and of a file in stock ExecuTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from reference.runtimes import load_stock
from torch import Tensor

from xir.runtime import Runtime

PROMPT = [1, 17, 93, 4, 58, 111, 23]


_GENERATED = WeakKeyDictionary[Any, dict[tuple[int, ...], tuple[list[int], Tensor]]]()
"""What models have answered to prompts. A shorter answer is the beginning of a longer one."""


def expected(model: Any, prompt: list[int], count: int) -> tuple[list[int], Tensor]:
    """The likeliest tokens, and the logits [count, vocabulary] that each was taken from. A model's weights stay."""
    known = _GENERATED.setdefault(model, {})
    if len(known.get(tuple(prompt), ([], None))[0]) < count:
        with torch.no_grad():
            found = model.generate(
                torch.tensor([prompt]), max_new_tokens=count, do_sample=False, eos_token_id=None,
                return_dict_in_generate=True, output_logits=True,
            )  # fmt: skip
        known[tuple(prompt)] = found.sequences[0, len(prompt) :].tolist(), torch.cat(found.logits)
    tokens, logits = known[tuple(prompt)]
    return tokens[:count], logits[:count]


def logits_of(file: Path | Any, prompt: list[int], tokens: list[int], *data: Path, state: Any = None) -> Tensor:
    """What a file, or a program on a state, computes behind the prompt and behind each of the tokens but the last,
    [count, vocabulary].
    """
    program = Runtime.get().load_program(file, threads=1, data=data) if isinstance(file, Path) else file
    state = state or program.new_state()
    prefill, decode = (program.load_method(name, state=state) for name in ("prefill", "decode"))
    found = prefill.execute([torch.tensor([prompt]), torch.arange(len(prompt))])
    for index, token in enumerate(tokens[:-1]):
        found += decode.execute([torch.tensor([[token]]), torch.tensor([len(prompt) + index])])
    return torch.cat(found)[:, -1]


def stock_logits(tokens: list[int], path: Path, data: Path | None = None) -> Tensor:
    """What stock's Python module answers behind each token, [count, vocabulary]: it gives each method memory of its
    own, so all tokens go through `decode`.
    """
    stock: Any = load_stock(path, data)
    rows = [
        stock.run_method("decode", (torch.tensor([[token]]), torch.tensor([position])))[0][:, -1].clone()
        for position, token in enumerate(tokens)
    ]
    return torch.cat(rows)


def error(found: Tensor, wanted: Tensor) -> float:
    """The distance in terms of the wanted norm."""
    return float((found - wanted).norm() / wanted.norm())
