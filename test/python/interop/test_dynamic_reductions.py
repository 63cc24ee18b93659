"""Sums, variances and norms over open dimensions, in one delegate, against eager in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
import torch
from reference.both_runtimes import Program, check, lower
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

LENGTHS = Dim("length", min=2, max=600)
BATCHES = Dim("batch", min=1, max=4)

ROWS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x.sum(1),
    "sum of all": lambda x: x.sum(),
    "sum of batch and length": lambda x: x.sum((0, 1), keepdim=True),
    "weighted mean": lambda x: (x * x.abs()).sum(1) / x.abs().sum(1).clamp(min=1e-9),
    "variance": lambda x: x.var(1),
    "biased variance": lambda x: x.var(1, correction=0, keepdim=True),
    "standardised": lambda x: (x - x.mean((1, 2), keepdim=True)) / (x.var((1, 2), keepdim=True) + 1e-7).sqrt(),
    "normalised along the length": lambda x: functional.normalize(x, dim=1),
    "mean of the last of three": lambda x: (x @ x.transpose(1, 2)).mean(-1),
    "attention pooling": lambda x: (x * x.sum(-1, keepdim=True).softmax(1)).sum(1),
    "copies for each text": lambda x: x.sum(1)[:, None] + x[:1, :1].repeat(x.shape[0], 1, 1),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    """[batch, length, 8], both open."""
    torch.manual_seed(0)
    model = Program(ROWS[name])
    lowered = lower(model, torch.randn(2, 7, 8), ({0: BATCHES, 1: LENGTHS},))
    sizes = ((2, 7), (1, 2), (4, 600), (3, 33))
    check(model, lowered, [torch.randn(batch, length, 8) for batch, length in sizes])


@pytest.mark.parametrize("layer", [nn.GroupNorm(2, 8), nn.GroupNorm(1, 8), nn.InstanceNorm2d(8, affine=True)], ids=str)
def test_norms_of_images_of_any_size(layer: nn.Module) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), layer, nn.SiLU(), nn.Conv2d(8, 2, 3, stride=2, padding=1))
    sizes = {0: BATCHES, 2: Dim("height", min=3, max=40), 3: Dim("width", min=3, max=40)}
    lowered = lower(model, torch.randn(2, 3, 8, 9), (sizes,))
    check(model, lowered, [torch.randn(shape) for shape in ((2, 3, 8, 9), (1, 3, 40, 3), (4, 3, 17, 40))])


def test_a_norm_of_texts_of_any_length() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(3, 8, 3, padding=1), nn.GroupNorm(8, 8), nn.GELU(), nn.GroupNorm(2, 8))
    lowered = lower(model, torch.randn(2, 3, 8), ({0: BATCHES, 2: LENGTHS},))
    check(model, lowered, [torch.randn(shape) for shape in ((2, 3, 8), (1, 3, 2), (4, 3, 555))])
