"""A constant that one node packs and another reads is there in stock ExecuTorch, which frees what is packed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch import Tensor, nn
from torch.nn import functional

import xir
from xir.runtime.stock_results import stock_results

CHANNELS = 300_000
"""So large that what is freed goes back to the system, and reading it ends the process."""


class Bias(nn.Module):
    """A layer's bias that is an addend as well, as tied parameters are."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(CHANNELS, 2))
        self.bias = nn.Parameter(torch.randn(CHANNELS))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias).relu() + self.bias


class Filter(nn.Module):
    """A layer's weights that another op reads as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(CHANNELS, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return functional.linear(x[:1], self.weight), self.weight * x[1:2]


@pytest.mark.parametrize(("module", "columns"), [(Bias, 2), (Filter, 4)])
def test_stock_computes_what_eager_does(module: type[nn.Module], columns: int, tmp_path: Path) -> None:
    model, x = module().eval(), torch.randn(2, columns)
    edge = xir.to_edge(torch.export.export(model, (x,))).to_backend(xir.XnnpackPartitioner())
    path = tmp_path / "model.pte"
    edge.to_executorch().save(path)
    (results,) = stock_results([path], [], [("forward", [x])] * 2)
    expected = model(x)
    for found in results:
        torch.testing.assert_close(found, list(expected) if isinstance(expected, tuple) else [expected])


def test_a_file_of_stocks_that_ends_its_process_is_mended(tmp_path: Path) -> None:
    """ExecuTorch's exporter makes such files as well. What reading freed memory gives is not asserted."""
    model, x = Bias().eval(), torch.randn(2, 2)
    old, new = tmp_path / "old.pte", tmp_path / "new.pte"
    exported = torch.export.export(model, (x,))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    old.write_bytes(lowered.to_executorch().buffer)
    xir.load(old).optimized(xir.XnnpackPartitioner()).save(new)
    ((found,),) = stock_results([new], [], [("forward", [x])])
    torch.testing.assert_close(found, [model(x)])
