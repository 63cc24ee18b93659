"""Random graphs with each pass checked: `--verify-numerics` says nothing about passes that are right.

`make verify-random COUNT=1000` tries others each time; `make random-graphs` counts which ops they have.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from properties.examples import DETERMINISTIC, examples
from properties.graphs import FORMS, exported, inputs_of, programs_in
from properties.programs import Program

import xir
from xir.evaluate import NumericsChecker


def check(form: str, program: Program) -> None:
    """Compile a program in one form, and compare what it computes after each pass with what it did before."""
    found = exported(program, form)
    if found is None:
        return
    checker = NumericsChecker(inputs_of(program, form))
    xir.to_edge(found).to_backend(xir.XnnpackPartitioner(), numerics=checker).to_executorch(numerics=checker)
    assert "plan-memory" in dict(checker.errors)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
def test_few_graphs(form: str) -> None:
    @settings(max_examples=examples(1, 3), **DETERMINISTIC)
    @given(programs_in(form, 3, 8))
    def holds(program: Program) -> None:
        check(form, program)

    holds()


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
def test_no_false_alarm(form: str) -> None:
    @settings(max_examples=examples(1), **DETERMINISTIC)
    @given(programs_in(form, 4, 16))
    def holds(program: Program) -> None:
        check(form, program)

    holds()
