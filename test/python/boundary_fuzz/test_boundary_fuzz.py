"""Kernels, files and callers that break their word end in errors of the runtime: always the same ones."""

from __future__ import annotations

import pytest

from boundary_fuzz.cases import check

CASES = 240
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_breaks(part: int) -> None:
    for number in range(part, CASES, PARTS):
        check(number)
