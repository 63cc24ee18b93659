"""Inception v4 (Szegedy et al., "Inception-v4, Inception-ResNet and the Impact of Residual Connections", 2016)."""

from collections.abc import Sequence

import torch
from torch import nn

Size = int | tuple[int, int]


class Conv(nn.Sequential):
    """Convolution, batch norm, relu."""

    def __init__(self, inputs: int, outputs: int, kernel: Size, stride: int = 1, padding: Size = 0):
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False),
            nn.BatchNorm2d(outputs, eps=0.001),
            nn.ReLU(),
        )


class Branches(nn.Module):
    """Branches side by side, their channels joined."""

    def __init__(self, *branches: nn.Module):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def _same(inputs: int, outputs: int, height: int, width: int) -> Conv:
    """A convolution that keeps the size."""
    return Conv(inputs, outputs, (height, width), padding=(height // 2, width // 2))


def _average() -> nn.AvgPool2d:
    return nn.AvgPool2d(3, 1, 1, count_include_pad=False)


def stem() -> Sequence[nn.Module]:
    """3 channels at 299×299 to 384 at 35×35."""
    return (
        Conv(3, 32, 3, 2),
        Conv(32, 32, 3),
        Conv(32, 64, 3, padding=1),
        Branches(nn.MaxPool2d(3, 2), Conv(64, 96, 3, 2)),
        Branches(
            nn.Sequential(Conv(160, 64, 1), Conv(64, 96, 3)),
            nn.Sequential(Conv(160, 64, 1), _same(64, 64, 1, 7), _same(64, 64, 7, 1), Conv(64, 96, 3)),
        ),
        Branches(Conv(192, 192, 3, 2), nn.MaxPool2d(3, 2)),
    )


def inception_a() -> nn.Module:
    """384 channels to 384, at 35×35."""
    return Branches(
        Conv(384, 96, 1),
        nn.Sequential(Conv(384, 64, 1), _same(64, 96, 3, 3)),
        nn.Sequential(Conv(384, 64, 1), _same(64, 96, 3, 3), _same(96, 96, 3, 3)),
        nn.Sequential(_average(), Conv(384, 96, 1)),
    )


def reduction_a() -> nn.Module:
    """384 channels at 35×35 to 1024 at 17×17."""
    return Branches(
        Conv(384, 384, 3, 2),
        nn.Sequential(Conv(384, 192, 1), _same(192, 224, 3, 3), Conv(224, 256, 3, 2)),
        nn.MaxPool2d(3, 2),
    )


def inception_b() -> nn.Module:
    """1024 channels to 1024, at 17×17."""
    return Branches(
        Conv(1024, 384, 1),
        nn.Sequential(Conv(1024, 192, 1), _same(192, 224, 1, 7), _same(224, 256, 7, 1)),
        nn.Sequential(
            Conv(1024, 192, 1),
            _same(192, 192, 7, 1),
            _same(192, 224, 1, 7),
            _same(224, 224, 7, 1),
            _same(224, 256, 1, 7),
        ),
        nn.Sequential(_average(), Conv(1024, 128, 1)),
    )


def reduction_b() -> nn.Module:
    """1024 channels at 17×17 to 1536 at 8×8."""
    return Branches(
        nn.Sequential(Conv(1024, 192, 1), Conv(192, 192, 3, 2)),
        nn.Sequential(Conv(1024, 256, 1), _same(256, 256, 1, 7), _same(256, 320, 7, 1), Conv(320, 320, 3, 2)),
        nn.MaxPool2d(3, 2),
    )


def inception_c() -> nn.Module:
    """1536 channels to 1536, at 8×8."""
    return Branches(
        Conv(1536, 256, 1),
        nn.Sequential(Conv(1536, 384, 1), Branches(_same(384, 256, 1, 3), _same(384, 256, 3, 1))),
        nn.Sequential(
            Conv(1536, 384, 1),
            _same(384, 448, 3, 1),
            _same(448, 512, 1, 3),
            Branches(_same(512, 256, 1, 3), _same(512, 256, 3, 1)),
        ),
        nn.Sequential(_average(), Conv(1536, 256, 1)),
    )


class InceptionV4(nn.Module):
    """[N, 3, 299, 299] to [N, 1000]."""

    def __init__(self, classes: int = 1000):
        super().__init__()
        self.features = nn.Sequential(
            *stem(),
            *(inception_a() for _ in range(4)),
            reduction_a(),
            *(inception_b() for _ in range(7)),
            reduction_b(),
            *(inception_c() for _ in range(3)),
        )
        self.classifier = nn.Linear(1536, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


def inception_v4() -> nn.Module:
    """See `InceptionV4`."""
    return InceptionV4()
