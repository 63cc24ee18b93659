"""Text encoders of transformers: how much of them is delegated, and eager's numbers at ten lengths in both runtimes."""

from __future__ import annotations

import pytest

from bench.encoders import ENCODERS, measure

KERNELS = {("CLIP text", True): 7, ("MPNet", True): 8}
"""Encoder and whether its sizes are open -> kernels outside of delegates, where they are more than six.

CLIP looks up where texts end by their numbers in the batch; MPNet slices a table of relative positions twice."""


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "open"])
@pytest.mark.parametrize("name", ENCODERS)
def test_encoders(name: str, is_open: bool) -> None:
    result = measure(name, is_open=is_open)
    assert result.error < 2e-6
    assert result.stock_error < 2e-6
    assert result.delegates == 1
    assert len(result.kernels) <= KERNELS.get((name, is_open), 6)
