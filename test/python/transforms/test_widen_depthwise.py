"""A quantised depthwise convolution that computes in fp32 agrees with PyTorch's own emulation to one step."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from xdsl.dialects.builtin import f32

import xir
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.runtime import Runtime


@pytest.mark.parametrize("cpu", ["any", "x86"])
@pytest.mark.parametrize(("stride", "multiplier"), [(1, 1), (2, 1), (1, 2)])
def test_agrees_with_the_quantised_program_in_eager(cpu: Literal["any", "x86"], stride: int, multiplier: int) -> None:
    torch.manual_seed(2)
    conv = torch.nn.Conv2d(8, 8 * multiplier, 5, stride, padding=2, groups=8)
    model = torch.nn.Sequential(conv, torch.nn.ReLU()).eval()
    images = [torch.randn(1, 8, 14, 14) for _ in range(4)]
    program = xir.quantize(model, (images[0],), images)
    edge = xir.to_edge(program).to_backend(xir.XnnpackPartitioner(cpu=cpu))

    (node,) = (op for op in edge.module.walk() if isinstance(op, xnnpack.DepthwiseConv2dOp))
    assert (element_type(node.input) == f32) == (cpu == "x86")
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for image in images:
        want = program.module()(image)
        step = want.unique().diff().min()
        difference = (torch.as_tensor(method.execute([image])[0]) - want).abs()
        assert difference.max() <= 1.001 * step
        # Steps apart are what sums in another order round differently.
        assert (difference > step / 2).float().mean() < 0.01
