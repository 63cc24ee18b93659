"""Models of the zoo, from export to both runtimes: one delegate or kernels alone, what stays outside of it, eager's
numbers, and the lines of the model that locations lead back to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from reference.runtimes import agree
from torch import Tensor
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation

from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack
from xir.dialects.edge.kernels import executorch_kernels
from xir.ir.annotations import ORIGINS
from xir.ir.location import origins_of
from xir.ir.passes import PassManager
from xir.models import MODELS, load_model
from xir.runtime import portable_kernels
from xir.transforms.registry import passes_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TOLERANCE, BY_KERNELS = 1e-3, 1e-4
"""Of the output's largest magnitude."""

OUTSIDE = {name: {"edge.embedding": 1} for name in ("emformer_predict", "llama2", "mobilebert")}
"""The lookup of an embedding, which XNNPACK has no node for. All else is in the delegate."""

CROPPED = {"edsr": 16, "ic3": 96, "ic4": 96} | dict.fromkeys(
    ("dl3", "efficientnet_b0", "mv2", "mv3", "mv3_large", "resnet18", "resnet50"), 64
)
"""Models that take images of any size, and the smaller one that is enough to see that every node is right."""

LIKE_OTHERS = {
    *("dl3", "edsr", "efficientnet_b0", "emformer_transcribe", "ic3", "ic4", "mobilebert", "mv2", "mv3_large"),
    *("resnet50", "vit", "w2l"),
}
"""Of layers that smaller models, or tests of single layers, have as well: for `make test-zoo`.
`interop/test_open_models.py` runs the beginning of MobileNetV2."""


QUICK = {"add", "linear", "mv3", "llama2", "emformer_join"}
"""One of each kind, by kernels alone. `test_dynamic_portable.py` runs an LSTM."""


@dataclass
class Lowered:
    """A model, as imported and as delegated."""

    name: str
    model: torch.nn.Module
    inputs: tuple[Tensor, ...]
    imported: EdgeProgram
    delegated: EdgeProgram

    @property
    def outside(self) -> list[Operation]:
        return [op for op in self.delegated.module.walk() if isinstance(op, edge.EdgeOp)]


def params(quick: Iterable[str]) -> list[Any]:
    """All models, of which those that are not quick are for `make test-zoo`."""
    return [pytest.param(n, marks=() if n in quick else pytest.mark.exhaustive) for n in sorted(MODELS)]


@pytest.fixture(scope="module", params=params(MODELS.keys() - LIKE_OTHERS))
def lowered(request: pytest.FixtureRequest) -> Lowered:
    model, inputs = load_model(request.param)
    if size := CROPPED.get(request.param):
        inputs = tuple(image[..., :size, :size].contiguous() for image in inputs)
    imported = to_edge(torch.export.export(model, inputs))
    return Lowered(request.param, model, inputs, imported, imported.to_backend(XnnpackPartitioner()))


def test_one_delegate_with_eagers_numbers(lowered: Lowered) -> None:
    assert Counter(op.name for op in lowered.outside) == OUTSIDE.get(lowered.name, {})
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in lowered.delegated.module.walk()) == 1
    file = lowered.delegated.to_executorch().buffer
    agree(file, lowered.model, [lowered.inputs], rtol=0, atol=0, of_largest=TOLERANCE)


@pytest.mark.parametrize("lowered", params(QUICK), indirect=True)
def test_kernels_with_eagers_numbers(lowered: Lowered) -> None:
    program = lowered.imported.to_executorch()
    assert executorch_kernels().issuperset(program.kernel_names)
    assert portable_kernels().issuperset(program.kernel_names), "the native runner has no other kernels"
    agree(program.buffer, lowered.model, [lowered.inputs], rtol=0, atol=0, of_largest=BY_KERNELS)


def lines(ops: Iterable[Operation]) -> set[tuple[str, int]]:
    """(file, line) of all places that ops' locations name."""
    return {(origin.file, origin.line) for op in ops for origin in origins_of(op.location) if origin.line}


def test_each_line_is_in_the_location_of_a_node(lowered: Lowered) -> None:
    """A fault, a profile or a remark about any node leads back to the model's source."""
    # What is known at compile time is computed then, and what does nothing goes away.
    simplified, ctx = lowered.imported.module.clone(), lowered.imported.ctx.clone()
    PassManager(ctx, passes_of("simplify"), verify_each=False).run(simplified)
    # In a program for inference a dropout is its operand: nothing is left to have its place.
    computing = [op for op in simplified.walk() if isinstance(op, edge.EdgeOp) and op.name != "edge.dropout"]
    ops = list(lowered.delegated.module.walk())
    inside = [op for op in ops if isinstance(op, xnnpack.NodeOp | xnnpack.YieldOp)]
    assert lines(computing) - lines([*inside, *lowered.outside]) == set()
    assert [op.name for op in inside if op.location == UNKNOWN_LOC] == []
    assert not any(ORIGINS in op.attributes for op in ops)


def test_what_is_fused_is_in_the_location() -> None:
    """Each of MobileNetV2's activations is a bound of the convolution before it, at another operator's place."""
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, bias=False), torch.nn.BatchNorm2d(4), torch.nn.ReLU6(), torch.nn.Flatten()
    ).eval()
    program = to_edge(torch.export.export(model, (torch.rand(1, 3, 8, 8),))).to_backend(XnnpackPartitioner())
    (convolution,) = (op for op in program.module.walk() if isinstance(op, xnnpack.ConvolutionOp))
    modules = {(origin.op, origin.module) for origin in origins_of(convolution.location)}
    assert {module for _, module in modules} == {"0", "1", "2"}
