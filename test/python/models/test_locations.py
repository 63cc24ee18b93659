"""Locations survive the lowering: a fault, a profile or a remark about any node leads back to the model's source."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import Operation

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack
from xir.ir.annotations import ORIGINS
from xir.ir.location import origins_of
from xir.ir.passes import PassManager
from xir.models import MODELS, load_model
from xir.transforms.registry import passes_of

QUICK = ("add_mul", "efficientnet_b0", "emformer_join", "linear", "llama2", "lstm", "mv2", "mv3", "vit", "w2l")
"""A model of each kind of layer; `make test-zoo` looks at the others."""


def sources(ops: Iterable[Operation]) -> set[tuple[str, int, str]]:
    """(file, line, operator) of all places that ops' locations name."""
    return {(o.file, o.line, o.op) for op in ops for o in origins_of(op.location) if o.line}


def edge_ops(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, edge.EdgeOp)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.exhaustive) for name in MODELS]
)
def test_each_line_is_in_the_location_of_a_node(name: str) -> None:
    model, inputs = load_model(name)
    program = to_edge(torch.export.export(model, inputs))
    # What is known at compile time is computed then, and what does nothing goes away.
    simplified, ctx = program.module.clone(), program.ctx.clone()
    PassManager(ctx, passes_of("simplify"), verify_each=False).run(simplified)
    delegated = program.to_backend(XnnpackPartitioner()).module
    inside = [op for op in delegated.walk() if isinstance(op, xnnpack.NodeOp | xnnpack.YieldOp)]
    left = {place[:2] for place in sources([*inside, *edge_ops(delegated)])}
    # In a program for inference a dropout is its operand: nothing is left to have its place.
    computing = [op for op in edge_ops(simplified) if op.name != "edge.dropout"]
    assert {place[:2] for place in sources(computing)} - left == set()
    assert [op.name for op in inside if op.location == UNKNOWN_LOC] == []
    assert not any(ORIGINS in op.attributes for op in delegated.walk())


def test_what_is_fused_is_in_the_location() -> None:
    """Each of MobileNetV2's activations is a bound of the convolution before it, at another operator's place."""
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, bias=False), torch.nn.BatchNorm2d(4), torch.nn.ReLU6(), torch.nn.Flatten()
    ).eval()
    program = to_edge(torch.export.export(model, (torch.rand(1, 3, 8, 8),))).to_backend(XnnpackPartitioner())
    (convolution,) = (op for op in program.module.walk() if isinstance(op, xnnpack.ConvolutionOp))
    modules = {(origin.op, origin.module) for origin in origins_of(convolution.location)}
    assert {module for _, module in modules} == {"0", "1", "2"}
