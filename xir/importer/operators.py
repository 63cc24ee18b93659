"""xir's own operators, as torch knows them: importing this module registers them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


@torch.library.custom_op("xir::attend_prefix", mutates_args=())
def attend_prefix(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor,
    key_scales: Tensor | None = None,
    value_scales: Tensor | None = None,
    *,
    scale: float | None = None,
) -> Tensor:
    """Attention to as many keys as the mask has columns: what lies behind them is not read.

    Query [N, G·H, L, E], key [N, H, window, E] and value [N, H, window, F], of any float types; mask [..., L or 1,
    keys], boolean or added to the scores, the same for each of N. Groups of G heads of queries share one of keys and
    values. Keys and values may be int8 with scales [N, H, window, 1], f32, which they are times. All is
    computed in f32 at least; the result is [N, G·H, L, F], of the query's type.
    """
    dtype, seen = torch.promote_types(query.dtype, torch.float32), attn_mask.shape[-1]
    keys, values = (
        (each if scales is None else each * scales)[:, :, :seen].to(dtype)
        for each, scales in ((key, key_scales), (value, value_scales))
    )
    found = scaled_dot_product_attention(query.to(dtype), keys, values, attn_mask, scale=scale, enable_gqa=True)
    return found.to(query.dtype)


@attend_prefix.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *_: object, **__: object) -> Tensor:
    return query.new_empty((*query.shape[:3], value.shape[3]))
