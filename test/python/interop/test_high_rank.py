"""Tensors of more dimensions than XNNPACK takes: one delegate, right in both runtimes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from interop.one_delegate import holds
from reference.both_runtimes import Program
from torch import Tensor
from torch.nn.functional import relu


def windows(x: Tensor) -> Tensor:
    """Windows of a video, as Swin's in three dimensions: [N, 4, 4, 6, C] by 2x2x3."""
    n, channels = x.shape[0], x.shape[-1]
    parts = x.relu().view(n, 2, 2, 2, 2, 2, 3, channels).permute(0, 1, 3, 5, 2, 4, 6, 7)
    rows = parts.reshape(-1, 12, channels)
    mixed = torch.softmax(rows @ rows.transpose(1, 2), -1) @ rows
    back = mixed.view(n, 2, 2, 2, 2, 2, 3, channels).permute(0, 1, 4, 2, 5, 3, 6, 7)
    return back.reshape(n, 4, 4, 6, channels).roll((-1, -1), (1, 2))


def relative_positions(x: Tensor, positions: Tensor) -> Tensor:
    """What MViT adds to the attention of a video."""
    bias = torch.einsum("nthwc,tkc->nthwk", x, positions)
    scores = torch.einsum("nthwc,nzyxc->nthwzyx", x, x)
    return (scores + bias[:, :, :, :, :, None, None]).flatten(1)


def reduced(x: Tensor) -> tuple[Tensor, ...]:
    """Reductions, slices and functions of eight dimensions."""
    high = x.view(-1, 2, 2, 2, 2, 2, 3, 8)
    return (
        high.mean((1, 3, 5)).flatten(1),
        high.amax((2, 3)).flatten(1),
        torch.softmax(high, 4).select(2, 1).flatten(1),
        (relu(high[:, :, :, 1:]) * high[:, :1, :, 1:, -1:].expand(-1, 2, 2, 1, 2, 2, 3, 8)).flatten(1),
    )


FUNCTIONS: dict[str, tuple[Callable[..., object], list[Tensor]]] = {
    "windows": (windows, []),
    "relative positions": (relative_positions, [torch.linspace(-1, 1, 4 * 4 * 8).view(4, 4, 8).sin()]),
    "reduced": (reduced, []),
}


@pytest.mark.parametrize("open_batch", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_delegate(name: str, open_batch: bool) -> None:
    function, constants = FUNCTIONS[name]
    model = Program(function, *constants)
    x = torch.randn(3, 4, 4, 6, 8, generator=torch.Generator().manual_seed(0))
    shapes = ({0: torch.export.Dim("batch", min=2, max=8)},) if open_batch else None
    holds(model, [x, x[:2]] if open_batch else [x], shapes)
