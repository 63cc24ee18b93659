"""Random graphs in delegates: transposes cost no more behind `propagate-layout` than before, and values stay."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from properties.examples import DETERMINISTIC, examples
from properties.families import FAMILIES
from properties.graphs import programs
from properties.programs import Program
from xdsl.dialects.builtin import ModuleOp

import xir
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, shape_of
from xir.evaluate import run_module
from xir.ir.passes import PassManager
from xir.ir.walking import ops_in
from xir.transforms.registry import passes_of
from xir.transforms.xnnpack.optimize._layout_islands import transpose_cost

TURNED = [name for name in FAMILIES if "convolution" in name or "pooling" in name or "movement" in name]
"""Families of images, and of what moves elements: each node is between transposes."""


def cost(module: ModuleOp) -> int:
    """What the pass takes all transposes of a module to cost."""
    transposes = ops_in(module, xnnpack.StaticTransposeOp)
    return sum(transpose_cost(shape_of(op.input), ints(op.perm), element_type(op.input)) for op in transposes)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(12), **DETERMINISTIC)
@given(programs([*TURNED, *TURNED, *sorted(FAMILIES.keys() - {"jumping"})], 4, 10))
def test_propagate_layout_keeps_values_and_costs_no_more(program: Program) -> None:
    edge = xir.to_edge(torch.export.export(program, program.inputs))
    before = edge.module.clone()
    PassManager(edge.ctx, passes_of("simplify,prepare,select,split-fully-connected,fuse-conv-relu")).run(before)
    wanted = run_module(before, edge.ctx, program.inputs)
    for _ in range(2):
        after = before.clone()
        PassManager(edge.ctx, passes_of("propagate-layout")).run(after)
        assert cost(after) <= cost(before)
        for got, want in zip(run_module(after, edge.ctx, program.inputs), wanted, strict=True):
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
        before = after
