"""How well a file predicts a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xir.llm.errors import LlmError
from xir.llm.generation import LanguageModel
from xir.llm.sampling import Logits
from xir.progress import counted
from xir.runtime import XirRuntimeError


@dataclass(frozen=True)
class Perplexity:
    """exp(−mean log p), where p is the model's probability of each token after the tokens before it."""

    value: float
    tokens: int
    """How many tokens were predicted."""


def perplexity(model: LanguageModel, text: str | Sequence[int], max_tokens: int | None = None) -> Perplexity:
    """The perplexity of a text, or of tokens; of the first `max_tokens` predictions only, if given.

    A text longer than the file's caches is taken in parts of that length. LlmError for a text of fewer than two tokens,
    a token that the model does not know, or a text without a tokenizer.
    """
    tokens = model.tokens_of(text)
    if max_tokens is not None:
        tokens = tokens[: max_tokens + 1]
    if len(tokens) < 2:
        raise LlmError("the text has fewer than two tokens: there is nothing to predict")
    window = model.metadata.max_context_len
    parts = [tokens[begin : begin + window] for begin in range(0, len(tokens), window)]
    lost = [loss for part in counted("Predicting", parts) for loss in _losses(model, part)]
    return Perplexity(math.exp(sum(lost) / len(lost)), len(lost))


def _losses(model: LanguageModel, tokens: Sequence[int]) -> list[float]:
    """−log p of each token but the first."""
    found: list[float] = []
    with model.decoder() as decoder:
        try:
            for position, token in enumerate(tokens[:-1]):
                logits = decoder.decode(token, position) if position else decoder.prefill([token])
                found.append(_loss(logits, tokens[position + 1]))
        except XirRuntimeError as error:
            raise LlmError(str(error)) from error
    return found


def _loss(logits: Logits, token: int) -> float:
    exact = logits.astype(np.float64)
    largest = exact.max()
    return float(largest + np.log(np.exp(exact - largest).sum()) - exact[token])
