"""Random graphs of 5 to 40 ops: one delegate, and eager's numbers in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

from hypothesis import given, settings
from properties.examples import DETERMINISTIC, examples
from properties.families import FAMILIES
from properties.graphs import programs
from properties.programs import Program, check


@settings(max_examples=examples(6, 15), **DETERMINISTIC)
@given(programs(sorted(FAMILIES), 5, 40))
def test_random_graphs(program: Program) -> None:
    check(program)
