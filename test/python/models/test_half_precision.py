"""Models in half precision: one delegate, in both runtimes, about as near to fp32 as eager's own half precision is."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

from xir import runtime
from xir.api import XnnpackPartitioner, to_edge
from xir.dialects.edge import EdgeOp
from xir.dialects.xnnpack import SubgraphOp
from xir.models import load_model

MARGIN = 1.5
"""How many times as far from fp32 as eager we may be: both round, but not in the same places."""


def run(program: torch.export.ExportedProgram, image: torch.Tensor) -> torch.Tensor:
    """What our runtime gives for a program of one input and one output."""
    file = to_edge(program).to_backend(XnnpackPartitioner()).to_executorch().buffer
    (output,) = runtime.Runtime.get().load_program(file).load_method("forward").execute([image])
    return torch.as_tensor(output)


def adds_in(dtype: torch.dtype) -> bool:
    """Whether XNNPACK rounds a sum of products to `dtype` after each: where the processor computes with such numbers.

    In halves 2048 + 1 is 2048, as often as it is added.
    """
    layer = torch.nn.Linear(65, 1, bias=False, dtype=dtype)
    torch.nn.init.ones_(layer.weight)
    row = torch.ones(1, 65, dtype=dtype)
    row[0, 0] = 2048
    return run(torch.export.export(layer, (row,)), row).item() < 2112


def margin(model: torch.nn.Module, dtype: torch.dtype) -> float:
    """MARGIN, and more where sums are rounded at each step.

    The roundings of a sum of n products of random sign are a random walk: together sqrt(n / 2) times as large as the
    one rounding of a sum that is exact until its end.
    """
    if not adds_in(dtype):
        return MARGIN
    layers = [layer for layer in model.modules() if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear)]
    return MARGIN * math.sqrt(1 + statistics.mean(layer.weight[0].numel() for layer in layers) / 2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
def test_mobilenet(dtype: torch.dtype) -> None:
    model, (image,) = load_model("mv2")
    with torch.no_grad():
        exact = model(image)
        half = model.to(dtype)
        eager = half(image.to(dtype))

    def error(output: torch.Tensor) -> float:
        assert output.dtype == dtype
        return ((output.float() - exact).norm() / exact.norm()).item()

    program = to_edge(torch.export.export(half, (image.to(dtype),))).to_backend(XnnpackPartitioner())
    ops = list(program.module.walk())
    assert sum(isinstance(op, SubgraphOp) for op in ops) == 1
    assert not any(isinstance(op, EdgeOp) for op in ops)
    file = program.to_executorch().buffer
    method = runtime.Runtime.get().load_program(file).load_method("forward")
    (ours,) = method.execute([image.to(dtype)])
    (stock,) = _load_for_executorch_from_buffer(file).forward([image.to(dtype)])
    most = margin(model, dtype) * error(eager)
    assert error(torch.as_tensor(ours)) <= most
    assert error(stock) <= most


@pytest.mark.parametrize("layer", [torch.nn.Hardsigmoid(), torch.nn.Sigmoid(), torch.nn.Conv2d(64, 64, 5, groups=64)])
def test_layers_round_to_both_sides(layer: torch.nn.Module) -> None:
    """Errors of one sign add up from layer to layer, where others cancel out."""
    torch.manual_seed(4)
    layer, image = layer.half(), torch.randn(1, 64, 14, 14).half() * 2
    with torch.no_grad():
        exact = layer.double()(image.double())
    ours = run(torch.export.export(layer.half(), (image,)), image)
    bias = ((ours.double() - exact) * exact.sign()).mean() / exact.abs().mean()
    assert abs(bias) < 3e-5
