"""A model of transformers with caches of keys and values as mutable buffers, in the form that is exported."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xir.llm.errors import LlmError
from xir.llm.huggingface.checkpoint import import_transformers

import_transformers()

from transformers.cache_utils import Cache, StaticCache, StaticLayer, StaticSlidingWindowLayer  # noqa: E402
from transformers.configuration_utils import get_head_shapes  # noqa: E402


class WindowLayer(StaticLayer):
    """The cache of one layer, written at positions that are given instead of counted.

    A program that is given positions can begin anew, go back and continue without a counter in its state.
    """

    def __init__(self, keys: Tensor, values: Tensor, positions: Tensor):
        super().__init__(max_cache_len=keys.shape[2])
        self.keys, self.values = self._window = keys, values
        self._positions = positions
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write keys and values [1, heads, S, size] at the positions; all of the window [1, heads, window, size]."""
        for window, states in zip(self._window, (key_states, value_states), strict=True):
            window.index_copy_(2, self._positions, states)
        return self._window

    def get_seq_length(self) -> Any:
        """How many tokens there are before those that are written, by which the model makes its masks."""
        return self._positions[0]


class CachedDecoder(nn.Module):
    """(tokens i64 [1, S], positions i64 [S]) -> logits of the last token, f32 [1, 1, vocabulary].

    Its buffers are `key_cache_<layer>` and `value_cache_<layer>`, f32 [1, key-value heads, window, head size], and
    `window` is how many tokens they hold. Layers that look back by less than the window keep all of it.
    """

    def __init__(self, model: nn.Module, config: Any, window: int):
        """LlmError for a model whose layers keep something else than keys and values."""
        super().__init__()
        self.model = model
        layers = StaticCache(config=config, max_cache_len=window).layers
        for index, layer in enumerate(layers):
            if type(layer) not in (StaticLayer, StaticSlidingWindowLayer):
                kind = type(layer).__name__.removesuffix("Layer")
                raise LlmError(f"layer {index} has a cache of another kind than keys and values: {kind}")
        self._count = len(layers)
        heads, sizes = ([value] * self._count if isinstance(value, int) else value for value in get_head_shapes(config))
        for index in range(self._count):
            for kind in ("key", "value"):
                # NumPy's zeros take no memory until they are written, which export never does.
                zeros = np.zeros((1, heads[index], window, sizes[index]), np.float32)
                self.register_buffer(f"{kind}_cache_{index}", torch.from_numpy(zeros), persistent=False)

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Positions follow one another."""
        layers: list[Any] = [
            WindowLayer(self.get_buffer(f"key_cache_{index}"), self.get_buffer(f"value_cache_{index}"), positions)
            for index in range(self._count)
        ]
        outputs = self.model(
            input_ids=tokens,
            position_ids=positions[None],
            past_key_values=Cache(layers=layers),
            use_cache=True,
            logits_to_keep=1,
        )
        return outputs.logits
