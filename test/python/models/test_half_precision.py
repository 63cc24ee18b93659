"""Models in half precision: one delegate, in both runtimes, about as near to fp32 as PyTorch in half precision is."""

from __future__ import annotations

import pytest
import torch
from reference.halves import product_in_halves
from reference.runtimes import load_stock
from torch.nn import functional
from torch.utils.hooks import RemovableHandle

from xir import runtime
from xir.api import XnnpackPartitioner, to_edge
from xir.dialects.edge import EdgeOp
from xir.dialects.xnnpack import SubgraphOp
from xir.evaluate.processor import adds_in_half
from xir.models import load_model

MARGIN = 1.5
"""How many times as far from fp32 as PyTorch we may be: both round, but not in the same places."""


def run(program: torch.export.ExportedProgram, image: torch.Tensor) -> torch.Tensor:
    """What our runtime gives for a program of one input and one output."""
    file = to_edge(program).to_backend(XnnpackPartitioner()).to_executorch().buffer
    (output,) = runtime.Runtime.get().load_program(file).load_method("forward").execute([image])
    return torch.as_tensor(output)


def add_in_halves(layer: torch.nn.Conv2d | torch.nn.Linear, args: tuple[torch.Tensor], _: torch.Tensor) -> torch.Tensor:
    """A forward hook: what a layer computes with its sum rounded to halves at each step, the bias first."""
    x, weight = args[0], layer.weight
    if isinstance(layer, torch.nn.Linear):
        columns, groups, shape = x[:, :, None].float(), 1, (1, -1)
    else:
        assert isinstance(layer.padding, tuple)
        columns = functional.unfold(x.float(), layer.kernel_size, layer.dilation, layer.padding, layer.stride)
        groups, height = layer.groups, (x.shape[2] + 2 * layer.padding[0] - layer.kernel_size[0]) // layer.stride[0] + 1
        shape = (1, layer.out_channels, height, -1)
    columns = columns.reshape(groups, -1, columns.shape[-1])
    factors = weight.float().reshape(groups, -1, columns.shape[1])
    bias = None if layer.bias is None else layer.bias.reshape(groups, -1, 1)
    return product_in_halves(factors, columns, bias).reshape(shape)


def pytorch_like_here(model: torch.nn.Module, image: torch.Tensor) -> torch.Tensor:
    """PyTorch's output, with sums rounded at each step where XNNPACK's kernels do that on this processor."""
    hooks: list[RemovableHandle] = []
    if image.dtype == torch.float16 and adds_in_half():
        layers = [layer for layer in model.modules() if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear)]
        hooks = [layer.register_forward_hook(add_in_halves) for layer in layers]
    try:
        with torch.no_grad():
            return model(image)
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize(
    "dtype",
    [pytest.param(torch.float16, id="fp16"), pytest.param(torch.bfloat16, id="bf16", marks=pytest.mark.exhaustive)],
)
def test_mobilenet(dtype: torch.dtype) -> None:
    model, (image,) = load_model("mv2")
    with torch.no_grad():
        exact = model(image)
    half = model.to(dtype)
    pytorch = pytorch_like_here(half, image.to(dtype))

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
    (stock,) = load_stock(file).forward([image.to(dtype)])
    assert error(torch.as_tensor(ours)) <= MARGIN * error(pytorch)
    assert error(stock) <= MARGIN * error(pytorch)


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
