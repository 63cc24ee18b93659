"""Silero VAD: which 32 ms of sound have speech, of sentences between silences that are known."""

from __future__ import annotations

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from bench.trained.sound import RATE, SENTENCES, speak
from bench.trained.tasks import Task, package_folder

_CHUNK, _CONTEXT = 512, 64
"""Samples for one answer, and those before them that are looked at too."""
_CHUNKS = 64
"""Answers for an input: two seconds."""
_MARGIN = 6
"""Answers so near the border between speech and silence do not count: the model looks back, and speech fades."""
_COUNTS = 16, 32
"""Inputs to calibrate with, and to compare."""
_VOICES = "en-us", "en-us+f3", "en-gb+m7", "en-us+f1", "en-gb-scotland", "en-us+m4"


class Silero(nn.Module):
    """Sound [1, chunks, 576] in chunks of 512 samples behind 64 of the one before -> probabilities [1, chunks]."""

    def __init__(self) -> None:
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        sizes = (129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1)
        for index, (inputs, outputs, stride) in enumerate(sizes, 1):
            setattr(self, f"conv{index}", nn.Conv1d(inputs, outputs, 3, stride, padding=1))
        self.lstm = nn.LSTM(128, 128, batch_first=True)
        self.final_conv = nn.Conv1d(128, 1, 1)

    def forward(self, sound: Tensor) -> Tensor:
        """The probability of speech in each chunk."""
        x = self.stft_conv(functional.pad(sound, (0, 64), mode="reflect").transpose(0, 1))
        x = (x[:, :129].square() + x[:, 129:].square()).sqrt()
        for index in range(1, 5):
            x = torch.relu(self.get_submodule(f"conv{index}")(x))
        x, _ = self.lstm(x.transpose(0, 2).transpose(1, 2))
        return torch.sigmoid(self.final_conv(torch.relu(x).transpose(1, 2)))[:, 0]


def task() -> Task:
    """Two seconds of silence and a part of a sentence, with noise 15 to 45 dB below the speech."""
    generator = torch.Generator().manual_seed(0)
    calibration, held_out = ([_sound(index, generator) for index in range(first, first + count)]
                             for first, count in ((0, _COUNTS[0]), (_COUNTS[0], _COUNTS[1])))  # fmt: skip
    weights = load_file(package_folder("silero_vad", "silero-vad") / "data" / "silero_vad_16k.safetensors")
    model = Silero()
    model.load_state_dict({_name(name): weight for name, weight in weights.items()})
    spoken = torch.stack([truth for _, truth in held_out])

    def right(outputs: Tensor) -> float:
        counted = spoken >= 0
        return float(((outputs > 0.5) == (spoken == 1))[counted].float().mean())

    return Task(
        "Silero VAD", model.eval(), [(each,) for each, _ in calibration], [(each,) for each, _ in held_out],
        are_logits=False, metric="speech or silence right", truth=right, answers=lambda outputs: outputs > 0.5,
        agreement="equal decisions",
    )  # fmt: skip


def _name(name: str) -> str:
    """The package has a cell; its weights are those of a layer's first step."""
    return f"lstm.{name.removeprefix('lstm_cell.')}_l0" if name.startswith("lstm_cell.") else name


def _sound(index: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """An input [1, chunks, 576], and whether a chunk has speech [chunks]: 1, 0, or −1 near a border."""
    spoken = speak(SENTENCES[index % len(SENTENCES)], _VOICES[index % len(_VOICES)])
    spoken = spoken[: int(RATE * (0.5 + torch.rand(1, generator=generator)))]
    samples = torch.zeros(_CHUNKS * _CHUNK)
    begin = int(torch.randint(_CHUNKS * _CHUNK - len(spoken), (1,), generator=generator))
    samples[begin : begin + len(spoken)] = spoken
    decibels = 15 + 30 * float(torch.rand(1, generator=generator))
    level = float(spoken.square().mean().sqrt()) * 10 ** (-decibels / 20)
    samples += level * torch.randn(samples.shape, generator=generator)
    first, last = begin // _CHUNK, (begin + len(spoken)) // _CHUNK
    truth = torch.zeros(_CHUNKS)
    truth[first : last + 1] = 1
    for border in (first, last):
        truth[max(border - _MARGIN, 0) : border + _MARGIN + 1] = -1
    return functional.pad(samples, (_CONTEXT, 0)).unfold(0, _CHUNK + _CONTEXT, _CHUNK)[None].contiguous(), truth
