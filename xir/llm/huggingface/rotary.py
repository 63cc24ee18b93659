"""Rotary positions whose frequencies depend on how long a text is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


@torch.no_grad()
def fix_frequencies(model: nn.Module, window: int) -> None:
    """Give rotary embeddings the frequencies of texts of `window` tokens, once and for all.

    Phi-3's `longrope` has other frequencies for texts longer than those of its first training. transformers chooses
    anew in each call and, where a text outgrows the bound, computes all of it once more. With keys in a cache, which
    were turned by the old ones, that cannot be had: the length that the caches have room for decides, as it does in
    other runtimes. `dynamic` frequencies change only beyond the model's positions, of which the caches hold no more.
    """
    modules: Iterator[Any] = model.modules()
    for module in modules:
        kind = getattr(module, "rope_type", None)
        if isinstance(kind, str) and (kind == "longrope" or "dynamic" in kind):
            module(torch.zeros(1), torch.tensor([[window - 1]]))
            module.rope_type = "default"
