"""Recurrent networks."""

import torch
from torch import nn


class TokenLSTM(nn.Module):
    """Features of a sequence [N, L, 64] through a two-layer LSTM to class scores [N, L, 128]."""

    def __init__(self, features: int = 64, hidden: int = 256, classes: int = 128):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(x)
        return self.head(states)


def lstm() -> nn.Module:
    """See `TokenLSTM`."""
    return TokenLSTM()
