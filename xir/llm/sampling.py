"""Which token comes next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xir.llm.errors import LlmError

Logits = np.ndarray[tuple[int], np.dtype[np.float32]]


@dataclass(frozen=True)
class Sampling:
    """How a token is sampled from logits. The options apply in this order.

    Raises LlmError for invalid values.
    """

    temperature: float = 0.0
    """Logits are divided by it: 0 takes the likeliest token, 1 samples from the model's distribution."""
    top_k: int = 0
    """Only the `top_k` likeliest tokens; 0 for all."""
    top_p: float = 1.0
    """Only the likeliest tokens that together have this probability."""
    seed: int | None = None
    """The seed of the random numbers, to repeat an answer; None for a different answer each time."""

    def __post_init__(self) -> None:
        if not self.temperature >= 0 or self.temperature == float("inf"):
            raise LlmError(f"temperature must be 0 or more, not {self.temperature}")
        if self.top_k < 0:
            raise LlmError(f"top-k must be 0 (all tokens) or more, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise LlmError(f"top-p must be above 0 and at most 1, not {self.top_p}")
        if self.seed is not None and self.seed < 0:
            raise LlmError(f"the seed must be 0 or more, not {self.seed}")


class Sampler:
    """Draws tokens; one for each generation, because it has the state of the random numbers."""

    def __init__(self, sampling: Sampling):
        self._sampling = sampling
        self._random = np.random.default_rng(sampling.seed)

    def __call__(self, logits: Logits) -> int:
        """The token drawn. Of equal logits the first token is the likeliest. LlmError where a logit is not finite."""
        if not np.isfinite(logits).all():
            raise LlmError("the model's logits are infinite or NaN")
        if self._sampling.temperature == 0:
            return int(logits.argmax())
        tokens = np.argsort(-logits, kind="stable")
        if self._sampling.top_k:
            tokens = tokens[: self._sampling.top_k]
        scores = logits[tokens].astype(np.float64)
        odds = np.exp((scores - scores[0]) / self._sampling.temperature)
        odds /= odds.sum()
        if self._sampling.top_p < 1:
            # A token is in if those before it do not reach the probability yet, so that the first one always is.
            count = int(np.searchsorted(np.cumsum(odds), self._sampling.top_p)) + 1
            tokens, odds = tokens[:count], odds[:count] / odds[:count].sum()
        return int(self._random.choice(tokens, p=odds))
