"""Any op of any family, in any form: one delegate, and eager's numbers in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from properties.examples import DETERMINISTIC, examples
from properties.families import FAMILIES
from properties.graphs import programs
from properties.programs import Program, check


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    @settings(max_examples=examples(3, 5), **DETERMINISTIC)
    @given(programs([family], 1, 3))
    def holds(program: Program) -> None:
        check(program)

    holds()
