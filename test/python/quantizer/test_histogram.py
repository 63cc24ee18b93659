"""Counts of values in bins that grow with them, and the search for a range in them: torchao's own, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchao.quantization.pt2e.observer import HistogramObserver

from xir.quantizer.histogram import BINS, Histogram
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


@pytest.mark.parametrize("scales", [(1.0,), (0.01, 3.0, 0.5), (5.0, 1e-3), (1e-20, 1e20)])
def test_growing_bins_count_what_fixed_ones_do(scales: tuple[float, ...]) -> None:
    generator = torch.Generator().manual_seed(3)
    parts = [torch.rand(1000, generator=generator) * scale - scale / 3 for scale in scales]
    histogram = Histogram()
    for part in parts:
        histogram.add(part)
    values = torch.cat(parts).double().numpy()
    assert np.abs(values).max() <= histogram.reach < 2 * np.abs(values).max()
    wanted, _ = np.histogram(values, BINS, (-histogram.reach, histogram.reach))
    assert np.abs(np.asarray(histogram.shares()) * len(values) - wanted).max() <= 1


def test_zeros_and_nothing_at_all() -> None:
    histogram = Histogram()
    histogram.add(torch.empty(0))
    assert histogram.shares() == ()
    histogram.add(torch.zeros(7))
    histogram.add(torch.full((3,), 0.75))
    assert histogram.reach == 1
    assert histogram.shares()[BINS // 2] == pytest.approx(0.7)
    assert sum(histogram.shares()) == pytest.approx(1)
