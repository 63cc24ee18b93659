"""Resemblyzer: whether two utterances are of one speaker, by the vectors that an LSTM makes of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.trained.sound import RATE, SENTENCES, magnitudes, mel_filters, speak
from bench.trained.tasks import Task, package_folder

_FRAMES, _MELS = 160, 40
"""Frames of 10 ms in an utterance, and what each has."""
_WINDOW, _STEP = 400, 160
_LOUDNESS = -30.0
"""Decibels below the loudest sine's square; the model knows no quieter speech."""
_SEEN = ("en-us+m2", 40), ("fr+f4", 60), ("en-gb+klatt", 50), ("it+m6", 70)
_OTHERS = (
    ("de+m1", 30), ("fr+m3", 50), ("en-us+f2", 70), ("ru+f4", 90), ("en-us+klatt2", 50), ("sv+m7", 20),
    ("en-us+Alex", 60), ("en-us+anika", 40),
)  # fmt: skip
"""Voices and pitches of speakers to calibrate with, and to compare: those of other languages speak with an accent."""
_EACH = 4
"""Utterances of each."""


class Encoder(nn.Module):
    """Mel spectrograms [1, 160, 40] -> vectors [1, 256] of length 1."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(_MELS, 256, 3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, mels: Tensor) -> Tensor:
        """The vector of the utterance."""
        features, _ = self.lstm(mels)
        return functional.normalize(torch.relu(self.linear(features[:, -1])))


def task() -> Task:
    """1.6 seconds of a sentence each, by speakers whom calibration has not heard."""
    calibration = [(_mels(voice, pitch, index),) for voice, pitch in _SEEN for index in range(_EACH)]
    held_out = [(_mels(voice, pitch, index),) for voice, pitch in _OTHERS for index in range(_EACH, 2 * _EACH)]
    model = Encoder()
    weights = torch.load(package_folder("resemblyzer", "resemblyzer") / "pretrained.pt", "cpu", weights_only=True)
    wanted = model.state_dict()
    model.load_state_dict({name: each for name, each in weights["model_state"].items() if name in wanted})
    speakers = torch.arange(len(_OTHERS)).repeat_interleave(_EACH)

    def right(outputs: Tensor) -> float:
        return float((speakers[nearest(outputs)] == speakers).float().mean())

    return Task(
        "Resemblyzer", model.eval(), calibration, held_out, are_logits=False, metric="nearest is the same speaker",
        truth=right, answers=nearest, agreement="nearest unchanged", modes=("dynamic",),
    )  # fmt: skip


def nearest(vectors: Tensor) -> Tensor:
    """The index of the other vector that is most alike, for each."""
    rows = functional.normalize(vectors)
    return (rows @ rows.T).fill_diagonal_(-1).argmax(1)


def _mels(voice: str, pitch: int, index: int) -> Tensor:
    """The spectrogram [1, 160, 40] of the middle of a sentence."""
    samples = speak(SENTENCES[index], voice, pitch)
    samples *= max(10 ** (_LOUDNESS / 20) / float(samples.square().mean().sqrt()), 1.0)
    length = (_FRAMES - 1) * _STEP + _WINDOW
    begin = max(len(samples) - length, 0) // 2
    samples = functional.pad(samples, (0, max(length - len(samples), 0)))[begin : begin + length]
    assert length > RATE * 1.5
    return (magnitudes(samples, _WINDOW, _STEP).square() @ mel_filters(_WINDOW, _MELS).T)[None]
