"""Convolutions along an open dimension whose result is cut off at its end: one delegate, right in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from reference.both_runtimes import check, lower
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm


class Causal(nn.Module):
    """A layer of a temporal convolutional network: padded on both sides, its end cut off."""

    def __init__(self, dilation: int = 2) -> None:
        super().__init__()
        self.padding = 2 * dilation
        self.conv = nn.Conv1d(16, 16, 3, padding=self.padding, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x)[:, :, : -self.padding].relu()


class Positions(nn.Module):
    """The positions of wav2vec 2.0: a convolution of even width gives one row too many."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = weight_norm(nn.Conv1d(16, 16, 8, padding=4, groups=4), name="weight", dim=2)

    def forward(self, x: Tensor) -> Tensor:
        return x + functional.gelu(self.conv(x)[:, :, :-1])


class Depthwise(nn.Module):
    """Mamba's convolution, cut to the length of its input, which more comes of."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(16, 16, 4, padding=3, groups=16)

    def forward(self, x: Tensor) -> Tensor:
        return functional.silu(self.conv(x)[..., : x.shape[-1]]) * x


class Strided(nn.Module):
    """Two steps of a convolution that goes two at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(16, 8, 5, padding=4, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)[..., :-2]


LAYERS: Mapping[str, Callable[[], nn.Module]] = {
    "causal": lambda: nn.Sequential(Causal(1), Causal(2), Causal(4)),
    "positions": Positions,
    "depthwise": Depthwise,
    "strided": Strided,
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    torch.manual_seed(0)
    model = LAYERS[name]()
    sizes: Any = {0: Dim("batch", min=1, max=4), 2: Dim("length", min=4, max=200)}
    lowered = lower(model, torch.randn(2, 16, 9), (sizes,))
    check(model, lowered, [torch.randn(shape) for shape in ((2, 16, 9), (1, 16, 4), (4, 16, 200), (3, 16, 31))])
