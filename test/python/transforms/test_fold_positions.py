"""What is computed of positions along open dimensions, folded, against eager in both runtimes."""

from __future__ import annotations

import random

import pytest
import torch
from reference.runtimes import both
from torch import Tensor, nn
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge

SIZES = ((2, 2), (3, 5), (1, 9), (4, 3), (2, 12))
"""Batches and lengths."""


class Drawn(nn.Module):
    """A mask and sums of random ops on positions of a batch of texts, [batch, length], drawn from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        draw = random.Random(self.seed)
        batch, length = x.shape
        rows, columns = torch.arange(batch)[:, None], torch.arange(length)[None]
        whole = [columns.expand(batch, -1), rows.expand(-1, length)]
        integers = [columns, rows, *whole]
        masks = [columns >= 0]
        for _ in range(12):
            a, b, all = draw.choice(integers), draw.choice(integers), draw.choice(whole)
            number = draw.randint(-2, 3)
            match draw.randrange(12):
                case 0:
                    integers.append(a + number)
                case 1:
                    integers.append(a * number)
                case 2:
                    integers.append(a - b)
                case 3:
                    integers.append(number - a)
                case 4:
                    integers.append(torch.minimum(a, b))
                case 5:
                    whole.append(torch.cat([all[:, :1] - number, all], 1)[:, 1:])
                case 6:
                    whole.append(torch.diff(all, prepend=all[:, :1] - number, dim=1))
                case 7:
                    whole.append((all != number).cumsum(draw.randrange(2)))
                case 8:
                    whole.append(all[rows, columns] * 2)
                case 9:
                    masks.append(all != number)
                case 10:
                    masks.append((a <= b) & draw.choice(masks))
                case _:
                    masks.append((a == b) | ~draw.choice(masks))
        total = sum(each.float() for each in (*integers[3:], *whole)) + torch.zeros_like(x)
        return torch.where(masks[-1] & masks[-2] if len(masks) > 1 else masks[0], x, -x), total + x


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(4, 40))]
)
def test_drawn_positions(seed: int) -> None:
    torch.manual_seed(0)
    model = Drawn(seed)
    sizes = {0: Dim("batch", min=1, max=4), 1: Dim("length", min=2, max=12)}
    program = torch.export.export(model, (torch.randn(3, 7),), dynamic_shapes=(sizes,))
    buffer = to_edge(program).to_backend(XnnpackPartitioner()).to_executorch().buffer
    runs = both(buffer)
    for shape in SIZES:
        x = torch.randn(shape)
        wanted = model(x)
        for results in (run([x]) for run in runs):
            torch.testing.assert_close(results[0], wanted[0], rtol=0, atol=0)
            torch.testing.assert_close(results[1], wanted[1], rtol=1e-6, atol=1e-6)
