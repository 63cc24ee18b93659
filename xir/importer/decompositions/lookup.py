"""Look-ups and their opposites: bags of embeddings, and rows that are added."""

from typing import Any

import torch
from torch._decomp import decomposition_table

from .registry import decomposes

aten = torch.ops.aten

_SUM, _MEAN, _MAX = range(3)
"""ATen's numbers of the modes."""


@decomposes(aten.index_fill.int_Tensor)
def index_fill(self: torch.Tensor, dim: int, index: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """A copy of self with one number at some places of a dimension, in self's type, which torch's own rule forgets."""
    return decomposition_table[aten.index_fill.int_Tensor](self, dim, index, value.to(self.dtype))


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
    """The last of the offsets may be where the last bag ends, by the documentation the number of indices.

    Where it is another one, as in a test of ExecuTorch, eager's modes differ: a sum ends there, a mean is that sum
    divided by the number of all that is left, and what is largest is so among all that is left. A sum that ends there
    is one beside a bag more, which begins there and is dropped.
    """
    padding = -1 if padding_idx is None else padding_idx % weight.shape[0]

    def bags(offsets: torch.Tensor, mode: int) -> Any:
        if mode == _SUM and padding < 0 and weight.dtype == torch.bfloat16:
            # torch's fake tensors give this sum another second result than its kernel does. It adds in fp32 as well.
            rows = aten.embedding(weight, indices).float()
            places = torch.arange(rows.shape[0], dtype=indices.dtype)
            weights = None if per_sample_weights is None else per_sample_weights.float()
            sums, *others = aten._embedding_bag_forward_only(
                rows, places, offsets, scale_grad_by_freq, mode, sparse, weights, False, padding
            )
            return sums.to(weight.dtype), *others
        return aten._embedding_bag_forward_only(
            weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, False, padding
        )

    if not include_last_offset:
        return bags(offsets, mode)
    if mode == _MAX or padding_idx is not None:
        return bags(offsets[:-1], mode)
    sums, bag_of, counts, largest = bags(offsets, _SUM)
    sums = sums[:-1]
    if mode == _MEAN:
        ends = torch.cat((offsets[1:-1], torch.full_like(offsets[:1], indices.shape[0])))
        sums = sums / (ends - offsets[:-1]).clamp(min=1).to(sums.dtype)[:, None]
    return sums, bag_of, counts[:-1], largest


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
