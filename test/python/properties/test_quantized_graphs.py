"""Random graphs in static int8: what the quantizer annotates is one delegate, and computes what it does in PyTorch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from properties.examples import DETERMINISTIC, examples
from properties.families import FAMILIES
from properties.graphs import programs
from properties.programs import Program
from reference.integers import agreements

import xir
from xir.dialects import edge, xnnpack
from xir.quantizer.search import NothingToQuantizeError


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(3, 4), **DETERMINISTIC)
@given(programs(sorted(FAMILIES.keys() - {"jumping"}), 4, 12))
def test_quantized_graphs(program: Program) -> None:
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
