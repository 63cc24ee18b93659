"""Counts of values in bins that grow with them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from xir.quantizer.histogram import BINS, Histogram


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
