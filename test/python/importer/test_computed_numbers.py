"""Numbers that a program computes are operands of the ops that take numbers."""

from __future__ import annotations

import torch
from reference.modules import Function
from reference.runtimes import agree
from torch import Tensor
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge


def sizes(x: Tensor) -> tuple[Tensor, ...]:
    """Sizes among the numbers of operators."""
    rows, columns = x.shape
    return (
        *(x * rows, x + columns, x - rows, torch.full((3,), rows), torch.arange(rows)),
        *(torch.arange(2, columns + 2), torch.arange(rows, dtype=torch.float32) * x[:, 0]),
    )


def test_sizes_are_numbers_of_operators() -> None:
    model, x = Function(sizes), torch.randn(3, 4)
    exported = torch.export.export(model, (x,), dynamic_shapes=(({0: Dim("rows", max=5), 1: Dim("columns", max=6)},),))
    for program in (to_edge(exported), to_edge(exported).to_backend(XnnpackPartitioner())):
        agree(program.to_executorch().buffer, model, ([torch.randn(size)] for size in ((3, 4), (5, 6), (2, 3))))
