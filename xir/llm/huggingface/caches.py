"""Caches of keys and values as transformers' models use them, written at positions that are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from xir.llm.huggingface.checkpoint import import_transformers

import_transformers()

from transformers.cache_utils import StaticLayer  # noqa: E402
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask  # noqa: E402
from transformers.modeling_utils import AttentionInterface  # noqa: E402

CacheType = Literal["fp32", "fp16", "bf16", "int8"]
"""The elements of caches; those in 8 bits have a scale for each token and head."""

RING_ATTENTION = "xir_ring"
"""The name that transformers knows `scaled_dot_product_attention` by whose masks are `ring_mask`."""

NOT_WRITTEN = 1 << 30
"""The position of a slot that nothing was written to: behind all others, so that masks hide it."""


class CacheLayer(StaticLayer):
    """The cache of one layer, written at positions that are given instead of counted.

    A program that is given positions can begin anew, and continue, without a counter in its state. A *ring* has fewer
    slots than there may be tokens: position p is at slot p modulo the slots, where it replaces an older one.
    """

    def __init__(self, keys: Sequence[Tensor], values: Sequence[Tensor], positions: Tensor, is_ring: bool):
        """`keys` and `values` are [1, heads, slots, size]; in int8, scales [1, heads, slots, 1] follow."""
        super().__init__(max_cache_len=keys[0].shape[2])
        self.keys, self.values = keys[0], values[0]
        self._stored = keys, values
        self._positions, self._is_ring = positions, is_ring
        self._slots = positions % self.max_cache_len if is_ring else positions
        self.is_initialized = True
        self.is_sliding = is_ring  # by which the model finds the layers that masks of either kind are for

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write keys and values [1, heads, S, size] at the positions; all slots, [1, heads, slots, size]."""
        keys, values = self._stored
        return self._written(keys, key_states), self._written(values, value_states)

    def _written(self, stored: Sequence[Tensor], states: Tensor) -> Tensor:
        cache = stored[0]
        if len(stored) == 1:
            cache.index_copy_(2, self._slots, states.to(cache.dtype))
            return cache.to(states.dtype)
        scales = states.abs().amax(-1, keepdim=True).float() / 127
        # A token of zeros has the scale 0, by which it is not divided.
        integers = (states / scales.clamp(min=torch.finfo(scales.dtype).tiny)).round()
        cache.index_copy_(2, self._slots, integers.to(torch.int8))
        stored[1].index_copy_(2, self._slots, scales)
        return (cache.to(scales.dtype) * stored[1]).to(states.dtype)

    def get_seq_length(self) -> Any:
        """How many tokens there are before those that are written, by which the model makes its masks."""
        return self._positions[0]

    def get_mask_sizes(self, query_length: int) -> tuple[int, Any]:
        """How many slots there are, and the position of the first, or what each slot's position is beyond its number.

        The slots of a ring hold the last positions there were.
        """
        if not self._is_ring:
            return self.max_cache_len, 0
        slots, last = torch.arange(self.max_cache_len), self._positions[-1]
        held = last - (last - slots) % self.max_cache_len
        return self.max_cache_len, torch.where(held < 0, NOT_WRITTEN, held) - slots


def ring_mask(*args: Any, q_length: int, kv_length: int, q_offset: Any = 0, kv_offset: Any = 0, **kwargs: Any) -> Any:
    """transformers' `sdpa_mask`, for a ring also hiding the slots behind the last position, which no query sees.

    While a ring fills, nothing is there; later there are no such slots. This way it is plain to see that attention need
    read no more of it than has been written.
    """
    offsets = {"q_offset": q_offset, "kv_offset": kv_offset}
    mask = sdpa_mask(*args, q_length=q_length, kv_length=kv_length, **offsets, **kwargs)
    if mask is None or not isinstance(kv_offset, Tensor):
        return mask
    return mask & (torch.arange(kv_length) <= (torch.arange(q_length) + q_offset)[:, None])


AttentionMaskInterface.register(RING_ATTENTION, ring_mask)
AttentionInterface.register(RING_ATTENTION, AttentionInterface()["sdpa"])
