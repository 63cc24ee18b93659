"""What `--cpu generic-arm` chooses, beside eager: `make test-arm` runs it on an emulated Arm processor.

Its profiles are modelled, so nobody has timed what they choose; that the results are right can be tested all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import xnnpack
from xir.ir.walking import ops_in
from xir.models import load_model
from xir.transforms.xnnpack.analysis.composed import ComposedOp

pytestmark = pytest.mark.exhaustive

TOLERANCE = 1e-5
"""Of the output's largest magnitude: F(4x4) is up to three times as inexact as fp32 products are anyway."""


def residual(m: Any, image: Tensor) -> Tensor:
    """Two stages as ResNet has them: a sum beside two convolutions, and half the size by a stride."""
    image = torch.relu(m.second(torch.relu(m.first(image))) + image)
    return torch.relu(m.last(torch.relu(m.halved(image))) + m.beside(image))


WIDE = {name: nn.Conv2d(64, 64, 3, padding=1) for name in ("first", "second")}
HALVED = {"halved": nn.Conv2d(64, 128, 3, stride=2, padding=1), "beside": nn.Conv2d(64, 128, 1, stride=2)}
RESIDUAL = Calling(residual, **WIDE, **HALVED, last=nn.Conv2d(128, 128, 3, padding=1))


def chain() -> nn.Module:
    """Convolutions and pooling as VGG has them, with an odd size."""
    layers: list[nn.Module] = []
    for before, behind in ((3, 64), (64, 128), (128, 256)):
        layers += [nn.Conv2d(before, behind, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256 * 36, 10))


def check(model: nn.Module, inputs: Sequence[Tensor], cpu: str, max_growth: float | None = None) -> Counter[str]:
    """Compile a model for Arm, compare it with eager, and count the forms that were chosen."""
    program = to_edge(torch.export.export(model, tuple(inputs)))
    program = program.to_backend(XnnpackPartitioner(cpu=cpu, max_growth=max_growth))
    assert sum(1 for _ in ops_in(program.module, xnnpack.SubgraphOp)) == 1
    agree(program.to_executorch().buffer, model, [inputs], rtol=0, atol=0, of_largest=TOLERANCE)
    composed = [each for each in program.remarks if isinstance(each, ComposedOp)]
    assert all(each.text.endswith("modelled, not measured") for each in composed)
    return Counter(each.form for each in composed)


def test_stages_of_resnet() -> None:
    assert check(RESIDUAL.eval(), [torch.randn(1, 64, 28, 28)], "generic-arm", 3.0).total() == 3


def test_stages_of_vgg() -> None:
    assert check(chain().eval(), [torch.randn(1, 3, 55, 55)], "generic-arm", 3.0).total() == 2


@pytest.mark.parametrize("cpu", ["cortex-a55", "cortex-a76", "cortex-x1", "apple-m1"])
def test_each_processor_by_itself(cpu: str) -> None:
    assert check(RESIDUAL.eval(), [torch.randn(1, 64, 28, 28)], cpu).total() >= 3


def test_resnet18() -> None:
    model, inputs = load_model("resnet18")
    assert check(model, inputs, "generic-arm").total() >= 8
