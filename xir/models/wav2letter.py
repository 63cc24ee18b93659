"""Wav2Letter, letters from sound by convolutions alone (Collobert et al., 2016)."""

import torch
from torch import nn

LETTERS = 4096
"""As many as ExecuTorch's example has."""


def _layer(inputs: int, outputs: int, kernel: int, stride: int, padding: int) -> list[nn.Module]:
    return [nn.Conv1d(inputs, outputs, kernel, stride, padding), nn.ReLU()]


class Wav2Letter(nn.Module):
    """A waveform [N, 1, samples] to log-probabilities of letters [N, letters, frames]."""

    def __init__(self, letters: int = LETTERS):
        super().__init__()
        layers = [*_layer(1, 250, 250, 160, 45), *_layer(250, 250, 48, 2, 23)]
        for _ in range(7):
            layers += _layer(250, 250, 7, 1, 3)
        layers += [*_layer(250, 2000, 32, 1, 16), *_layer(2000, 2000, 1, 1, 0), *_layer(2000, letters, 1, 1, 0)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.layers(x), dim=1)


def wav2letter() -> nn.Module:
    """See `Wav2Letter`."""
    return Wav2Letter()
