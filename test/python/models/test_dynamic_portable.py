"""Modules with dynamic sizes on kernels alone: eager's numbers at every size, in both runtimes."""

from __future__ import annotations

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from torch import nn
from torch.export import Dim

from xir.api import to_edge

BATCH, LENGTH = Dim("batch", min=1, max=8), Dim("length", min=1, max=16)

SIZES = ((8, 16), (1, 1), (3, 16), (8, 2))
"""Of batch and length, up and down again: memory is planned for the largest."""

Shape = tuple[int | Dim, ...]


CASES: dict[str, tuple[nn.Module, list[Shape]]] = {
    "linear": (nn.Sequential(nn.Linear(4, 3), nn.Mish()), [(BATCH, LENGTH, 4)]),
    "matmul": (Calling(lambda m, x, y: x @ y), [(BATCH, 2, LENGTH, 4), (BATCH, 2, 4, LENGTH)]),
    "matmul_broadcast": (Calling(lambda m, x, y: x @ y), [(BATCH, 1, LENGTH, 4), (3, 4, 5)]),
    "causal_attention": (
        Calling(lambda m, q, k, v: nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)),
        [(BATCH, 2, LENGTH, 8)] * 3,
    ),
    "encoder": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), [(BATCH, LENGTH, 8)]),
    "lstm": (Calling(lambda m, x: m.lstm(x)[0], lstm=nn.LSTM(4, 3, batch_first=True)), [(BATCH, 5, 4)]),
    "group_norm": (nn.GroupNorm(2, 4), [(BATCH, 4, LENGTH, 5)]),
    "rms_norm": (nn.RMSNorm(4), [(BATCH, LENGTH, 4)]),
    "convolution": (
        nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.PReLU(4), nn.AdaptiveAvgPool2d(1)),
        [(BATCH, 3, LENGTH, 8)],
    ),
    "convolution_of_signals": (nn.Conv1d(3, 4, 3, padding=1), [(BATCH, 3, LENGTH)]),
    "pieces": (Calling(lambda m, x: torch.cat([*x.chunk(2, -1)[::-1], *x.split(3, -1)], -1)), [(BATCH, LENGTH, 4)]),
    "unbind": (Calling(lambda m, x: torch.stack(x.unbind(1), 2).roll(1)), [(BATCH, 3, LENGTH)]),
    "triangle": (Calling(lambda m, x: x.triu(1)), [(LENGTH, LENGTH)]),
    "sort": (Calling(lambda m, x: x.sort(dim=1, descending=True)[0]), [(BATCH, LENGTH)]),
    "norm": (Calling(lambda m, x: torch.linalg.vector_norm(x, dim=1) + x.square().sum()), [(BATCH, LENGTH)]),
}


def inputs_of(shapes: list[Shape], batch: int, length: int) -> list[torch.Tensor]:
    sizes = {BATCH: batch, LENGTH: length}
    return [torch.randn(*(size if isinstance(size, int) else sizes[size] for size in shape)) for shape in shapes]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_every_size(name: str) -> None:
    module, shapes = CASES[name]
    module.eval()
    dims = tuple(tuple(Dim.STATIC if isinstance(size, int) else size for size in shape) for shape in shapes)
    exported = torch.export.export(module, tuple(inputs_of(shapes, 4, 6)), dynamic_shapes=dims)
    calls = (inputs_of(shapes, batch, length) for batch, length in SIZES)
    agree(to_edge(exported).to_executorch().buffer, module, calls, rtol=1e-4, atol=1e-5)
