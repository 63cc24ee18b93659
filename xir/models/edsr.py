"""EDSR, super-resolution by a factor of two (Lim et al., "Enhanced Deep Residual Networks", 2017)."""

import torch
from torch import nn

FEATURES = 64
BLOCKS = 16
COLORS = 3
RGB_MEAN = (0.4488, 0.4371, 0.4040)
"""Of DIV2K, the data that the paper trains on."""


def _conv(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


class ResidualBlock(nn.Module):
    """x + conv(relu(conv(x)))."""

    def __init__(self, features: int):
        super().__init__()
        self.body = nn.Sequential(_conv(features, features), nn.ReLU(), _conv(features, features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


class EDSR(nn.Module):
    """[N, 3, H, W] in [0, 1] to [N, 3, factor·H, factor·W]."""

    mean: torch.Tensor

    def __init__(self, factor: int = 2):
        super().__init__()
        self.register_buffer("mean", torch.tensor(RGB_MEAN).reshape(1, COLORS, 1, 1))
        self.head = _conv(COLORS, FEATURES)
        self.body = nn.Sequential(*(ResidualBlock(FEATURES) for _ in range(BLOCKS)), _conv(FEATURES, FEATURES))
        self.tail = nn.Sequential(
            _conv(FEATURES, factor * factor * FEATURES), nn.PixelShuffle(factor), _conv(FEATURES, COLORS)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.head(x - self.mean)
        return self.tail(features + self.body(features)) + self.mean


def edsr() -> nn.Module:
    """The paper's baseline for a factor of two."""
    return EDSR()
