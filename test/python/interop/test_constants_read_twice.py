"""A constant that one node packs and another reads is there in stock ExecuTorch, which frees what is packed."""

from __future__ import annotations

from pathlib import Path

import torch
from reference import stock
from reference.modules import Calling
from torch import nn
from torch.nn import functional

import xir
from xir.runtime.stock_results import stock_results

CHANNELS = 300_000
"""So large that what is freed goes back to the system, and reading it ends the process."""
COLUMNS = 4


def models() -> list[nn.Module]:
    """A layer's bias that is an addend as well, as tied parameters are, and weights that another op reads."""
    weight, bias = (nn.Parameter(torch.randn(CHANNELS, *shape)) for shape in ((COLUMNS,), ()))
    added = Calling(lambda m, x: functional.linear(x, m.weight, m.bias).relu() + m.bias, weight=weight, bias=bias)
    read = Calling(lambda m, x: (functional.linear(x[:1], m.weight), m.weight * x[1:2]), weight=weight)
    return [added.eval(), read.eval()]


def test_stock_computes_what_eager_does(tmp_path: Path) -> None:
    """In one process for all, since it takes seconds to start.

    ExecuTorch's exporter makes such files as well. What reading freed memory gives is not asserted, but that the file
    is mended when it is optimised.
    """
    (added, read), x = models(), torch.randn(2, COLUMNS)
    bias, filter = (torch.export.export(model, (x,)) for model in (added, read))
    stocks = tmp_path / "stock.pte"
    stocks.write_bytes(stock.compiled(bias).buffer)
    files = {
        "bias": xir.to_edge(bias).to_backend(xir.XnnpackPartitioner()).to_executorch(),
        "filter": xir.to_edge(filter).to_backend(xir.XnnpackPartitioner()).to_executorch(),
        "mended": xir.load(stocks).optimized(xir.XnnpackPartitioner()),
    }
    for name, file in files.items():
        file.save(tmp_path / name)
    results = stock_results([(tmp_path / name, ()) for name in files], [("forward", [x])] * 2)
    for model, calls in zip((added, read, added), results, strict=True):
        expected = model(x)
        for found in calls:
            torch.testing.assert_close(found, list(expected) if isinstance(expected, tuple) else [expected])
