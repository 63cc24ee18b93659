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
        }[kind]
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("kind", ["normal", "outliers", "one side", "two heaps", "few numbers"])
def test_ranges_are_torchaos(kind: str, dtype: torch.dtype) -> None:
    for scale, sizes in ((1.0, (1000, 3000)), (1e-6, (50,)), (100.0, (7, 2000, 300))):
        observers = [
            made(dtype=torch.int8, quant_min=-128, quant_max=127) for made in (HistogramRange, HistogramObserver)
        ]
        for size in sizes:
            batch = values(kind, size, scale).to(dtype)
            for observer in observers:
                observer(batch)
        ours, theirs = (observer.calculate_qparams() for observer in observers)
        assert [float(each) for each in ours] == [float(each) for each in theirs], (scale, sizes)
