"""Random graphs: any op of any family and many together, in one delegate, quantised, and with each pass checked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from properties.families import FAMILIES
from properties.graphs import FORMS, exported, inputs_of, programs, programs_in
from properties.programs import Program, check
from reference.integers import agreements

import xir
from xir.dialects import edge, xnnpack
from xir.evaluate import NumericsChecker
from xir.quantizer.search import NothingToQuantizeError


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=examples(3, 5), **DETERMINISTIC)
@given(st.data())
def test_family(family: str, data: st.DataObject) -> None:
    """One delegate, and eager's numbers in xir's runtime and in stock ExecuTorch."""
    check(data.draw(programs([family], 1, 3)))


@settings(max_examples=examples(6, 15), **DETERMINISTIC)
@given(programs(sorted(FAMILIES), 5, 40))
def test_random_graphs(program: Program) -> None:
    """The same of 5 to 40 ops."""
    check(program)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(3, 4), **DETERMINISTIC)
@given(programs(sorted(FAMILIES.keys() - {"jumping"}), 4, 12))
def test_quantized_graphs(program: Program) -> None:
    """What the quantizer annotates is one delegate, and computes what it does in PyTorch."""
    try:
        quantized = xir.quantize(program, program.inputs)
    except NothingToQuantizeError:
        return
    lowered = xir.to_edge(quantized).to_backend(xir.XnnpackPartitioner())
    ops = list(lowered.module.walk())
    assert not [op.name for op in ops if isinstance(op, edge.EdgeOp)]
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    for layer in agreements(quantized, [program.inputs]):
        assert layer.largest <= 1, layer


def verify(form: str, program: Program) -> None:
    """Compile a program in one form, and compare what it computes after each pass with what it did before."""
    if (found := exported(program, form)) is not None:
        checker = NumericsChecker(inputs_of(program, form))
        xir.to_edge(found).to_backend(xir.XnnpackPartitioner(), numerics=checker).to_executorch(numerics=checker)
        assert "plan-memory" in dict(checker.errors)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(1, 3), **DETERMINISTIC)
@given(st.data())
def test_verified_graphs(form: str, data: st.DataObject) -> None:
    """`--verify-numerics` says nothing about passes that are right."""
    verify(form, data.draw(programs_in(form, 3, 8)))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(1), **DETERMINISTIC)
@given(st.data())
def test_no_false_alarm(form: str, data: st.DataObject) -> None:
    """`make verify-random COUNT=1000` tries others each time; `make random-graphs` counts which ops they have."""
    verify(form, data.draw(programs_in(form, 4, 16)))
