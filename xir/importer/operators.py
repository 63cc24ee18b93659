"""xir's own operators, as torch knows them: importing this module registers them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


@torch.library.custom_op("xir::attend_prefix", mutates_args=())
def attend_prefix(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor, *, scale: float | None = None
) -> Tensor:
    """Attention to as many keys as the mask has columns: what lies behind them is not read.

    Query [N, G·H, L, E], key [N, H, window, E] and value [N, H, window, F], of any float types; mask [..., L or 1,
    keys], boolean or added to the scores, the same for each of N. Groups of G heads of queries share one of keys and
    values. The result is [N, G·H, L, F], of the query's type.
    """
    keys, values = (each[:, :, : attn_mask.shape[-1]].to(query.dtype) for each in (key, value))
    return scaled_dot_product_attention(query, keys, values, attn_mask, scale=scale, enable_gqa=True)


@attend_prefix.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor, *, scale: float | None = None) -> Tensor:
    return query.new_empty((*query.shape[:3], value.shape[3]))
