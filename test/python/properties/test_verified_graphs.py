"""Random graphs with each pass checked: `--verify-numerics` says nothing about passes that are right.

`make verify-random COUNT=1000` tries others each time.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from properties.families import FAMILIES, programs
from properties.programs import Program

import xir
from xir.evaluate import NumericsChecker
from xir.quantizer.search import NothingToQuantizeError

FORMS = ("fp32", "fp16", "static", "open")
"""Numbers of fp32 or fp16, quantised activations, and open sizes of first dimensions where the program lets them be."""


def exported(program: Program, form: str) -> torch.export.ExportedProgram | None:
    """A program in one form; None if it does not have it."""
    match form:
        case "static":
            try:
                return xir.quantize(program, program.inputs)
            except NothingToQuantizeError:
                return None
        case "fp16":
            return torch.export.export(program.half(), tuple(each.half() for each in program.inputs))
        case "open":
            largest = torch.export.Dim.AUTO(max=12)
            sizes = [{0: largest} if each.shape[0] > 1 else None for each in program.inputs]
            return torch.export.export(program, program.inputs, dynamic_shapes=(tuple(sizes),))
        case _:
            return torch.export.export(program, program.inputs)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(24), **DETERMINISTIC)
@given(st.sampled_from(FORMS), programs(sorted(FAMILIES.keys() - {"jumping"}), 4, 16))
def test_no_false_alarm(form: str, program: Program) -> None:
    found = exported(program, form)
    if found is None:
        return
    checker = NumericsChecker([each.half() if form == "fp16" else each for each in program.inputs])
    xir.to_edge(found).to_backend(xir.XnnpackPartitioner(), numerics=checker).to_executorch(numerics=checker)
    assert "plan-memory" in dict(checker.errors)
