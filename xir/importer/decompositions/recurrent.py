"""One step of recurrent networks."""

from collections.abc import Sequence

import torch

from .registry import decomposes

aten = torch.ops.aten


@decomposes(aten.gru_cell.default)
def gru_cell(
    input: torch.Tensor,
    hx: torch.Tensor,
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor | None = None,
    b_hh: torch.Tensor | None = None,
) -> torch.Tensor:
    """One step: reset, update and new gate, in that order. ATen's C++ computes it in place."""
    of_input, of_state = (
        aten.linear(value, weight, bias).chunk(3, -1) for value, weight, bias in ((input, w_ih, b_ih), (hx, w_hh, b_hh))
    )
    reset = (of_input[0] + of_state[0]).sigmoid()
    update = (of_input[1] + of_state[1]).sigmoid()
    new = (of_input[2] + reset * of_state[2]).tanh()
    return (hx - new) * update + new


@decomposes(aten.lstm_cell.default)
def lstm_cell(
    input: torch.Tensor,
    hx: Sequence[torch.Tensor],
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor | None = None,
    b_hh: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step: input, forget, cell and output gate, in that order."""
    hidden, cell = hx
    gates = aten.linear(input, w_ih, b_ih) + aten.linear(hidden, w_hh, b_hh)
    entering, kept, new, leaving = gates.chunk(4, -1)
    cell = kept.sigmoid() * cell + entering.sigmoid() * new.tanh()
    return leaving.sigmoid() * cell.tanh(), cell


@decomposes(aten.rnn_tanh_cell.default)
def rnn_tanh_cell(
    input: torch.Tensor,
    hx: torch.Tensor,
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor | None = None,
    b_hh: torch.Tensor | None = None,
) -> torch.Tensor:
    """One step of an Elman network."""
    return (aten.linear(input, w_ih, b_ih) + aten.linear(hx, w_hh, b_hh)).tanh()


@decomposes(aten.rnn_relu_cell.default)
def rnn_relu_cell(
    input: torch.Tensor,
    hx: torch.Tensor,
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor | None = None,
    b_hh: torch.Tensor | None = None,
) -> torch.Tensor:
    """One step of an Elman network with ReLU."""
    return (aten.linear(input, w_ih, b_ih) + aten.linear(hx, w_hh, b_hh)).relu()
