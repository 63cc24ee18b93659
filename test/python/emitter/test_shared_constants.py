"""Bytes that are a constant of a kernel and a weight of a delegate, as tied embeddings are, stand in a file once."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from reference.runtimes import load_stock
from torch import Tensor, nn

from xir.api import XnnpackPartitioner, to_edge
from xir.emitter import emit, read
from xir.ir.context import XirContext
from xir.runtime import Runtime

ROWS, WIDTH = 500, 24


class Tied(nn.Module):
    """Tokens to logits by one table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(ROWS, WIDTH)
        self.head = nn.Linear(WIDTH, ROWS, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(torch.tanh(self.table(tokens)))


@pytest.fixture(scope="module")
def model() -> Tied:
    torch.manual_seed(0)
    return Tied()


@pytest.fixture(scope="module")
def content(model: Tied) -> bytes:
    program = torch.export.export(model, (torch.zeros(3, dtype=torch.int64),))
    return to_edge(program).to_backend(XnnpackPartitioner()).to_executorch().buffer


def test_it_is_stored_once(model: Tied, content: bytes) -> None:
    table = model.table.weight.detach().numpy().tobytes()
    assert content.count(table) == 1
    assert len(content) < len(table) + 4096


def test_both_runtimes_compute_with_it(model: Tied, content: bytes) -> None:
    tokens = torch.tensor([3, 499, 0])
    with torch.no_grad():
        expected = model(tokens)
    (ours,) = Runtime.get().load_program(content, threads=1).load_method("forward").execute([tokens])
    stock: Any = load_stock(content)
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(stock.run_method("forward", (tokens,))[0], expected)


def test_it_is_read_and_written_again(content: bytes) -> None:
    ctx = XirContext()
    module = read(content, ctx)
    stream = io.BytesIO()
    emit(module, ctx, stream)
    assert stream.getvalue() == content
