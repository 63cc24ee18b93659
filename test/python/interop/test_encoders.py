"""Text encoders of transformers: how much of them is delegated, and eager's numbers at ten lengths in both runtimes."""

from __future__ import annotations

import pytest

from bench.encoders import ENCODERS, measure

OUTSIDE = {("CLIP text", True): (1, 7), ("MPNet", True): (2, 23)}
"""Encoder and whether its sizes are open -> delegates and kernels, where these are more than one and six.

CLIP looks up where texts end by their numbers in the batch; MPNet sorts relative positions into buckets."""


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "open"])
@pytest.mark.parametrize("name", ENCODERS)
def test_encoders(name: str, is_open: bool) -> None:
    result = measure(name, is_open=is_open)
    assert result.error < 2e-6
    assert result.stock_error < 2e-6
    delegates, kernels = OUTSIDE.get((name, is_open), (1, 6))
    assert result.delegates == delegates
    assert len(result.kernels) <= kernels
