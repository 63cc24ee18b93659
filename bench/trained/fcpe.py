"""FCPE: the pitch of gliding tones that is known at each moment, by convolutions and norms as in a conformer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.trained.sound import RATE, magnitudes, mel_filters, with_noise
from bench.trained.tasks import Task, package_folder

_FRAMES, _MELS, _BINS = 64, 128, 360
_WINDOW, _STEP = 1024, 160
_LOWEST, _HIGHEST = (1200 * math.log2(hertz / 10) for hertz in (32.7, 1975.5))
"""The pitches of the first and the last bin, in cents above 10 Hz."""
_LAYERS, _WIDTH = 6, 512
_COUNTS = 16, 32
"""Glides to calibrate with, and to compare."""


class Layer(nn.Module):
    """Features [1, frames, 512] -> the same, with what lies up to 15 frames away."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(_WIDTH)
        self.widen = nn.Conv1d(_WIDTH, 4 * _WIDTH, 1)
        self.along = nn.Conv1d(2 * _WIDTH, 2 * _WIDTH, 31, padding=15, groups=2 * _WIDTH)
        self.narrow = nn.Conv1d(2 * _WIDTH, _WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        wide = functional.glu(self.widen(self.norm(x).transpose(1, 2)), 1)
        return x + self.narrow(functional.silu(self.along(wide))).transpose(1, 2)


class Fcpe(nn.Module):
    """Logarithmic mel spectrograms [1, frames, 128] -> the likelihood of pitches [1, frames, 360]."""

    def __init__(self) -> None:
        super().__init__()
        self.input_stack = nn.Sequential(
            nn.Conv1d(_MELS, _WIDTH, 3, padding=1),
            nn.GroupNorm(4, _WIDTH),
            nn.LeakyReLU(),
            nn.Conv1d(_WIDTH, _WIDTH, 3, padding=1),
        )
        self.layers = nn.Sequential(*(Layer() for _ in range(_LAYERS)))
        self.norm = nn.LayerNorm(_WIDTH)
        self.output_proj = nn.Linear(_WIDTH, _BINS)

    def forward(self, mels: Tensor) -> Tensor:
        """The likelihoods."""
        x = self.input_stack(mels.transpose(1, 2)).transpose(1, 2)
        return torch.sigmoid(self.output_proj(self.norm(self.layers(x))))


def task() -> Task:
    """Tones of 80 to 800 Hz that glide by up to an octave, with overtones and noise 10 to 40 dB below them."""
    generator = torch.Generator().manual_seed(0)
    calibration, held_out = ([_glide(generator) for _ in range(count)] for count in _COUNTS)
    model = Fcpe()
    file = package_folder("torchfcpe", "torchfcpe") / "assets" / "fcpe_c_v001.pt"
    model.load_state_dict(_weights(torch.load(file, "cpu", weights_only=True)["model"]))
    pitches = torch.stack([truth for _, truth in held_out])

    def near(outputs: Tensor) -> float:
        return float(((_cents(outputs) - pitches).abs() < 10).float().mean())

    return Task(
        "FCPE", model.eval(), [(each,) for each, _ in calibration], [(each,) for each, _ in held_out],
        are_logits=False, metric="pitch within 10 cents", truth=near, answers=lambda outputs: outputs.argmax(-1),
        agreement="likeliest pitch unchanged", modes=("static", "dynamic"),
    )  # fmt: skip


def _weights(found: dict[str, Tensor]) -> dict[str, Tensor]:
    """The package's weights by the names of our modules. The last layer's is a direction and a length for each row."""
    names = {"norm": "net.0", "widen": "net.2", "along": "net.4.conv", "narrow": "net.6"}
    weights = {name: each for name, each in found.items() if name.startswith(("input_stack.", "norm."))}
    for index in range(_LAYERS):
        for ours, theirs in names.items():
            for part in ("weight", "bias"):
                weights[f"layers.{index}.{ours}.{part}"] = found[
                    f"net.encoder_layers.{index}.conformer.{theirs}.{part}"
                ]
    rows = found["output_proj.weight_v"]
    weights["output_proj.weight"] = found["output_proj.weight_g"] * rows / rows.norm(dim=1, keepdim=True)
    weights["output_proj.bias"] = found["output_proj.bias"]
    return weights


def _cents(likelihoods: Tensor) -> Tensor:
    """The pitch [..., frames], in cents above 10 Hz: the mean of the nine bins around the likeliest."""
    cents = torch.linspace(_LOWEST, _HIGHEST, _BINS)
    near = (torch.arange(_BINS) - likelihoods.argmax(-1, keepdim=True)).abs() <= 4
    weights = likelihoods * near
    return (weights * cents).sum(-1) / weights.sum(-1)


def _glide(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """An input [1, frames, 128], and its pitch in the middle of each frame [frames], in cents above 10 Hz."""

    def uniform(low: float, high: float) -> float:
        return low + (high - low) * float(torch.rand(1, generator=generator))

    count = (_FRAMES - 1) * _STEP + _WINDOW
    seconds = torch.arange(count, dtype=torch.float64) / RATE
    begin, octaves = 80 * 10 ** uniform(0, 1), uniform(-1, 1)
    hertz = begin * 2 ** (octaves * seconds / seconds[-1])
    angles = 2 * torch.pi * hertz.cumsum(0) / RATE
    overtones, falling = torch.arange(1, 14, dtype=torch.float64), uniform(0.5, 2)
    parts = (overtones[:, None] * angles).sin() * overtones[:, None] ** -falling
    tone = (parts * (overtones[:, None] * hertz < RATE / 2)).sum(0).float()
    samples = with_noise(0.3 * tone / tone.abs().max(), uniform(10, 40), generator)
    mels = (magnitudes(samples, _WINDOW, _STEP) @ mel_filters(_WINDOW, _MELS).T).clamp(min=1e-5).log()
    middles = torch.arange(_FRAMES) * _STEP + _WINDOW // 2
    return mels[None], (1200 * (hertz[middles] / 10).log2()).float()
