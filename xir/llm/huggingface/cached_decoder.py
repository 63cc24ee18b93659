"""A model of transformers with caches of keys and values as mutable buffers, in the form that is exported."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from xir.llm.errors import LlmError, first_line
from xir.llm.huggingface.caches import RING_ATTENTION, CacheLayer, CacheType
from xir.llm.huggingface.checkpoint import import_transformers, quiet

import_transformers()

from transformers.cache_utils import Cache, StaticCache, StaticLayer, StaticSlidingWindowLayer  # noqa: E402


class CachedDecoder(nn.Module):
    """(tokens i64 [1, S], positions i64 [S]) -> logits of the last token, f32 [1, 1, vocabulary].

    Its buffers are `key_cache_<layer>` and `value_cache_<layer>`, [1, key-value heads, slots, head size], and in int8
    `key_scales_<layer>` and `value_scales_<layer>`. There are `window` slots; a layer that looks back by fewer tokens
    has a ring of as many as a call of `chunk` tokens sees, if that is less.
    """

    def __init__(
        self, model: nn.Module, config: Any, window: int, chunk: int | None = None, cache_type: CacheType = "fp32"
    ):
        """`chunk` is the most tokens of a call; without it there are no rings.

        LlmError for a model whose layers keep something else than keys and values.
        """
        super().__init__()
        self.model: Any = model
        layers = StaticCache(config=config, max_cache_len=window).layers
        for index, layer in enumerate(layers):
            if type(layer) not in (StaticLayer, StaticSlidingWindowLayer):
                kind = type(layer).__name__.removesuffix("Layer")
                raise LlmError(f"layer {index} has a cache of another kind than keys and values: {kind}")
        self._rings: list[bool] = []
        for index, (layer, written) in enumerate(zip(layers, written_shapes(model), strict=True)):
            slots = window
            if isinstance(layer, StaticSlidingWindowLayer) and chunk is not None:
                slots = min(window, layer.max_cache_len + chunk - 1)
            self._rings.append(slots < window)
            for kind, (heads, size) in zip(("key", "value"), written, strict=True):
                self._register(f"{kind}_cache_{index}", (1, heads, slots, size), DTYPES[cache_type])
                if cache_type == "int8":
                    self._register(f"{kind}_scales_{index}", (1, heads, slots, 1), torch.float32)
        self._has_scales = cache_type == "int8"
        if any(self._rings) and self.model.config.get_text_config(decoder=True)._attn_implementation == "sdpa":
            self.model.set_attn_implementation(RING_ATTENTION)

    def _register(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        # NumPy's zeros take no memory until they are written, which export never does.
        zeros = torch.from_numpy(np.zeros((*shape, dtype.itemsize), np.uint8))
        self.register_buffer(name, zeros.view(dtype).squeeze(-1), persistent=False)

    def _stored(self, kind: str, index: int) -> list[Tensor]:
        parts = ("cache", "scales") if self._has_scales else ("cache",)
        return [self.get_buffer(f"{kind}_{part}_{index}") for part in parts]

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Positions follow one another."""
        layers: list[Any] = [
            CacheLayer(self._stored("key", index), self._stored("value", index), positions, is_ring)
            for index, is_ring in enumerate(self._rings)
        ]
        outputs = self.model(
            input_ids=tokens,
            position_ids=positions[None],
            past_key_values=Cache(layers=layers),
            use_cache=True,
            logits_to_keep=1,
        )
        return outputs.logits.float()


DTYPES: dict[CacheType, torch.dtype] = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "int8": torch.int8,
}


def written_shapes(model: Any) -> list[list[tuple[int, int]]]:
    """Heads and head size of the keys and of the values that each layer writes for a token.

    They are what the model's own code writes, not what its configuration says: Falcon's does not tell that there is one
    head, and GPT-NeoX has one for each query whatever its configuration says. Nothing is computed.
    LlmError for a model that keeps no keys and values, or cannot be run with sizes alone.
    """
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad(), quiet():
            found = model(input_ids=torch.zeros(1, 1, dtype=torch.int64), use_cache=True)
    except Exception as error:  # the model's code raises what it comes across
        raise LlmError(f"torch cannot follow {type(model).__name__}: {first_line(error)}") from error
    if (caches := getattr(found, "past_key_values", None)) is None:
        raise LlmError(f"{type(model).__name__} keeps no keys and values")
    return [[(part.shape[1], part.shape[3]) for part in (layer.keys, layer.values)] for layer in caches.layers]
