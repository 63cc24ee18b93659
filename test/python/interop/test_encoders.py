"""Text encoders of transformers: how much of them is delegated, and eager's numbers at ten lengths in both runtimes."""

from __future__ import annotations

import pytest

from bench.encoders import ENCODERS, measure

MOST_KERNELS = 6
"""Outside of delegates: what turns tokens and masks into numbers, positions of tokens, and look-ups."""


QUICK = {"RoBERTa", "ModernBERT"}
"""Positions that depend on tokens, and attention to a window of rotated positions. The others are for
`make transformers`, and for `make test-zoo`."""


@pytest.mark.parametrize("is_open", [pytest.param(False, marks=pytest.mark.exhaustive), True], ids=["fixed", "open"])
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in ENCODERS])
def test_encoders(name: str, is_open: bool) -> None:
    result = measure(name, is_open=is_open)
    assert result.error < 2e-6
    assert result.stock_error < 2e-6
    assert result.delegates == 1
    assert len(result.kernels) <= MOST_KERNELS
