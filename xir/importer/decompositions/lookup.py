"""Look-ups and their opposites: bags of embeddings, and rows that are added."""

from typing import Any

import torch

from .registry import decomposes

aten = torch.ops.aten


@decomposes(aten.embedding_bag.padding_idx)
def embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: torch.Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> Any:
    """The offset at the end is the number of indices: with it torch infers wrong shapes of unused results.

    Where a program gives another one, against the documentation, eager's modes end the last bag differently: the
    greatest are those of all indices, and a mean is the sum up to that offset divided by the number of all.
    """
    offsets = offsets[:-1] if include_last_offset else offsets
    padding = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return aten._embedding_bag_forward_only(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, False, padding
    )


@decomposes(aten.index_add.default)
def index_add(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: float = 1
) -> torch.Tensor:
    """Rows added where an index says, times `alpha` in the type of `self`: truth values stay some."""
    rows = source if alpha == 1 else (source * alpha).to(self.dtype)
    value = self.unsqueeze(0) if self.dim() == 0 else self
    places = [None] * (dim % value.dim()) + [index]
    result = aten.index_put(value, places, rows, True)
    return result.squeeze(0) if self.dim() == 0 else result
