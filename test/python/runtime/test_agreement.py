"""How `xir-aot --test_after_export` measures the distance between outputs."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from xir.runtime.agreement import agreement, compared


def test_equal_outputs() -> None:
    values = np.array([1.0, np.inf, np.nan])
    found = compared([values], [values])
    assert found.difference == 0
    assert found.sqnr == math.inf
    assert str(found) == "outputs are PyTorch's exactly"


def test_the_difference_is_relative_to_the_largest_magnitude() -> None:
    found = compared([np.array([2.0, -9.0]), np.array([0.5])], [np.array([2.0, -10.0]), np.array([0.5])])
    assert found.difference == pytest.approx(0.1)
    assert found.sqnr == pytest.approx(10 * math.log10(104))


def test_the_worst_output_counts() -> None:
    good, bad = np.array([1e6, 2e6]), np.array([1.0, 2.0])
    found = compared([good, bad * 1.1], [good, bad])
    assert found.where == "output 1"
    assert found.sqnr == pytest.approx(20)
    assert compared([good, bad * np.nan], [good * 1.5, bad]).where == "output 1"


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_in_one_alone(wrong: float) -> None:
    assert not compared([np.array([1.0, wrong])], [np.array([1.0, 2.0])]).difference < math.inf


def test_another_shape_is_wrong() -> None:
    """Also one that NumPy would broadcast to the same numbers."""
    found = compared([np.ones((1, 4))], [np.ones((3, 4))])
    assert math.isnan(found.difference)
    assert found.sqnr == -math.inf


def test_empty_and_zero_outputs() -> None:
    assert compared([np.zeros(0), np.zeros(3)], [np.zeros(0), np.zeros(3)]).difference == 0
    assert compared([np.ones(3)], [np.zeros(3)]).sqnr == -math.inf


def test_a_program_without_example_inputs(tmp_path: Path) -> None:
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    program.example_inputs = None
    with pytest.raises(ValueError, match="export it again"):
        agreement(tmp_path / "relu.pte", program)
