"""How `xir-aot --test_after_export` measures the distance between outputs."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from xir.runtime.agreement import agreement, compared

DISTANCES: dict[str, tuple[list[Any], list[Any], float, float]] = {
    "equal": ([[1.0, np.inf, np.nan]], [[1.0, np.inf, np.nan]], 0, math.inf),
    "empty and zero": ([[], [0.0, 0.0]], [[], [0.0, 0.0]], 0, math.inf),
    "relative to the largest magnitude": ([[2.0, -9.0], [0.5]], [[2.0, -10.0], [0.5]], 0.1, 10 * math.log10(104)),
    "of zeros": ([[1.0, 1.0]], [[0.0, 0.0]], 1, -math.inf),
    "of another shape, which NumPy would broadcast": ([[[1.0, 1.0]]], [[[1.0, 1.0]] * 3], math.nan, -math.inf),
}
"""Outputs, those that are wanted, the largest difference and the signal-to-noise ratio."""


@pytest.mark.parametrize("name", DISTANCES)
def test_distances(name: str) -> None:
    outputs, wanted, difference, sqnr = DISTANCES[name]
    found = compared([np.array(each) for each in outputs], [np.array(each) for each in wanted])
    assert found.difference == pytest.approx(difference, nan_ok=True)
    assert found.sqnr == pytest.approx(sqnr)
    assert (str(found) == "outputs are PyTorch's exactly") == (difference == 0)


def test_the_worst_output_counts() -> None:
    good, bad = np.array([1e6, 2e6]), np.array([1.0, 2.0])
    found = compared([good, bad * 1.1], [good, bad])
    assert found.where == "output 1"
    assert found.sqnr == pytest.approx(20)
    assert compared([good, bad * np.nan], [good * 1.5, bad]).where == "output 1"


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_in_one_alone(wrong: float) -> None:
    assert not compared([np.array([1.0, wrong])], [np.array([1.0, 2.0])]).difference < math.inf


def test_a_program_without_example_inputs(tmp_path: Path) -> None:
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    program.example_inputs = None
    with pytest.raises(ValueError, match="export it again"):
        agreement(tmp_path / "relu.pte", program)
