"""The search for a histogram's range finds what torchao's own does, to the bit."""

from __future__ import annotations

import pytest
import torch
from torchao.quantization.pt2e.observer import HistogramObserver

from xir.quantizer.observers import HistogramRange


def values(kind: str, size: int, scale: float) -> torch.Tensor:
    normal = torch.randn(size)
    return (
        scale
        * {
            "normal": normal,
            "outliers": torch.where(torch.arange(size) % 97 == 0, 40 * normal, normal),
            "one side": normal.relu(),
            "two heaps": torch.where(torch.arange(size) % 3 == 0, normal + 30, normal),
            "few numbers": normal.round(),
            "unequal tails": torch.where(normal < 0, -(normal**4), normal**2),
            "cubes": normal**3,
        }[kind]
    )


def check(kind: str, dtype: torch.dtype, scale: float, *sizes: int) -> None:
    observers = [made(dtype=torch.int8, quant_min=-128, quant_max=127) for made in (HistogramRange, HistogramObserver)]
    for size in sizes:
        batch = values(kind, size, scale).to(dtype)
        for observer in observers:
            observer(batch)
    ours, theirs = (observer.calculate_qparams() for observer in observers)
    assert [float(each) for each in ours] == [float(each) for each in theirs]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize(
    "kind", ["normal", "outliers", "one side", "two heaps", "few numbers", "unequal tails", "cubes"]
)
def test_ranges_are_torchaos(kind: str, dtype: torch.dtype) -> None:
    check(kind, dtype, 1.0, 1000, 3000)
    check(kind, dtype, 1e-6, 50)
    check(kind, dtype, 10.0, 7, 2000, 300)


@pytest.mark.parametrize("kind", ["normal", "unequal tails", "cubes"])
def test_ranges_of_so_many_values_that_a_step_cuts_off_some(kind: str) -> None:
    check(kind, torch.float32, 1.0, 500_000)
    check(kind, torch.float32, -1.0, 500_000)
