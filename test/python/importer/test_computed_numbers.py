"""Numbers that a program computes are operands of the ops that take numbers."""

from __future__ import annotations

import torch
from reference.runtimes import agree
from torch import Tensor, nn
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge


class Sizes(nn.Module):
    """Sizes among the numbers of operators."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        rows, columns = x.shape
        return (
            x * rows,
            x + columns,
            x - rows,
            torch.full((3,), rows),
            torch.arange(rows),
            torch.arange(2, columns + 2),
            torch.arange(rows, dtype=torch.float32) * x[:, 0],
        )


class Items(nn.Module):
    """A weight's number, as a number."""

    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(2.5))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return x * self.scale.item(), x + y.item()


def test_sizes_are_numbers_of_operators() -> None:
    model, x = Sizes(), torch.randn(3, 4)
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: Dim("rows", max=5), 1: Dim("columns", max=6)},))
    for program in (to_edge(exported), to_edge(exported).to_backend(XnnpackPartitioner())):
        agree(program.to_executorch().buffer, model, ([torch.randn(size)] for size in ((3, 4), (5, 6), (2, 3))))


def test_an_item_is_a_number() -> None:
    model, inputs = Items().eval(), (torch.randn(2, 3), torch.tensor(1.5))
    program = to_edge(torch.export.export(model, inputs)).to_backend(XnnpackPartitioner()).to_executorch()
    assert program.kernel_names == []  # the buffer's is known, and the input's is a tensor in the delegate
    agree(program.buffer, model, [inputs])
