"""Recurrent cells are linear layers and functions of their gates, in one delegate."""

from __future__ import annotations

import torch
from reference.runtimes import agree
from torch import Tensor, nn

from xir.api import XnnpackPartitioner, to_edge


class Cells(nn.Module):
    """Two steps of each cell, one without biases."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.lstm = nn.GRUCell(3, 4), nn.LSTMCell(3, 4)
        self.tanh, self.relu = nn.RNNCell(3, 4, bias=False), nn.RNNCell(3, 4, nonlinearity="relu")

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
        state = (hidden, hidden * 2)
        cells = self.gru, self.tanh, self.relu
        return *(cell(x, cell(x, hidden)) for cell in cells), *self.lstm(x, self.lstm(x, state))


def test_cells() -> None:
    torch.manual_seed(0)
    model, inputs = Cells().eval(), (torch.randn(2, 3), torch.randn(2, 4))
    program = to_edge(torch.export.export(model, inputs)).to_backend(XnnpackPartitioner()).to_executorch()
    assert program.kernel_names == []
    agree(program.buffer, model, [inputs])
