"""Sound whose truth is known: speech by espeak-ng, tones of a known pitch, and their mel spectrograms."""

from __future__ import annotations

import io
import math
import shutil
import subprocess
import wave

import numpy as np
import torch
from torch import Tensor

from xir.models import ModelError

RATE = 16_000
"""Samples in a second, of all sound here."""

SENTENCES = (
    "The ferry leaves the harbour at seven in the morning.",
    "Nobody had told the gardener about the new fence.",
    "She wrote the address on the back of an old envelope.",
    "Two hundred people waited in the rain for the last train.",
    "A small bridge of stone crosses the river below the mill.",
    "The baker opens his shop before the streets are awake.",
    "We measured the depth of the lake at eleven places.",
    "His brother repairs clocks and sells them at the market.",
    "Clouds came in from the west and covered the whole valley.",
    "Please put the green boxes next to the window.",
    "The second chapter explains how the engine was built.",
    "An owl sat on the roof and looked at the children.",
    "Yesterday the library received a box of forgotten maps.",
    "Few of the travellers had ever seen so much snow.",
    "The price of bread rose again at the end of the month.",
    "Their dog follows every bicycle down to the corner.",
)


def speak(text: str, voice: str = "en-us", pitch: int = 50) -> Tensor:
    """Speech [samples] from −1 to 1, without the silence around it. ModelError if espeak-ng is not installed."""
    if shutil.which("espeak-ng") is None:
        raise ModelError("the program espeak-ng is not installed: apt-get install espeak-ng")
    spoken = subprocess.run(
        ["espeak-ng", "--stdout", "-v", voice, "-p", str(pitch), text], check=True, capture_output=True
    ).stdout
    with wave.open(io.BytesIO(spoken)) as file:
        rate, data = file.getframerate(), file.readframes(-1)
    samples = torch.from_numpy(np.frombuffer(data, dtype="<i2").astype(np.float32) / 2**15)
    loud = (samples.abs() > 0.01).nonzero()[:, 0]
    return resample(samples[int(loud[0]) : int(loud[-1]) + 1], rate)


def resample(samples: Tensor, rate: int) -> Tensor:
    """Sound of another rate, at least `RATE`, at `RATE`: frequencies above half of it are cut off."""
    common = math.gcd(rate, RATE)
    old, new = rate // common, RATE // common
    blocks = -(-len(samples) // old)
    spectrum = torch.fft.rfft(torch.nn.functional.pad(samples, (0, blocks * old - len(samples))))
    return torch.fft.irfft(spectrum[: blocks * new // 2 + 1], blocks * new) * (new / old)


def with_noise(samples: Tensor, decibels: float, generator: torch.Generator) -> Tensor:
    """Sound with white noise so far below its own power."""
    level = float(samples.square().mean().sqrt()) * 10 ** (-decibels / 20)
    return samples + level * torch.randn(samples.shape, generator=generator)


def magnitudes(samples: Tensor, size: int, step: int) -> Tensor:
    """The magnitudes [frames, size / 2 + 1] of windows of `size` samples (Hann's), one for each `step`."""
    return torch.stft(samples, size, step, window=torch.hann_window(size), center=False, return_complex=True).abs().T


def mel_filters(size: int, count: int) -> Tensor:
    """Triangles [count, size / 2 + 1] of the same area, on Slaney's mel scale up to half the rate.

    The scale is linear up to 1,000 Hz, 15 mel, and logarithmic above, 27 mel for a factor of 6.4.
    """
    break_hz, break_mel, step = 1000.0, 15.0, math.log(6.4) / 27
    top = break_mel + math.log(RATE / 2 / break_hz) / step
    mels = torch.linspace(0, top, count + 2, dtype=torch.float64)
    edges = torch.where(mels < break_mel, mels * break_hz / break_mel, break_hz * (step * (mels - break_mel)).exp())
    hertz = torch.linspace(0, RATE / 2, size // 2 + 1, dtype=torch.float64)
    low, center, high = (edges[first : first + count, None] for first in range(3))
    triangles = torch.minimum((hertz - low) / (center - low), (high - hertz) / (high - center)).clamp(min=0)
    return (triangles * 2 / (high - low)).float()
