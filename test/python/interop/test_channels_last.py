"""Inputs in channels-last memory: the file takes them in the order of the sample, as stock ExecuTorch's own does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference import stock
from reference.modules import Calling
from reference.runtimes import agree, load_stock
from torch import Tensor, nn
from torch.export import Dim, export

import xir
from xir.dialects import xnnpack
from xir.runtime import Runtime


def rows() -> nn.Module:
    """Reads the image as memory has it, too."""
    return Calling(lambda m, x: (torch.softmax(x, 1), x.permute(0, 2, 3, 1).abs()))


def convolutions() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def image(batch: int = 1) -> Tensor:
    return torch.randn(batch, 3, 9, 11).to(memory_format=torch.channels_last)


def lowered(model: nn.Module, x: Tensor, shapes: Any = None, *, delegate: bool = True) -> xir.EdgeProgram:
    edge = xir.to_edge(export(model.eval(), (x,), dynamic_shapes=shapes))
    return edge.to_backend(xir.XnnpackPartitioner()) if delegate else edge


@pytest.mark.parametrize("delegate", [True, False], ids=["delegated", "portable"])
@pytest.mark.parametrize("build", [convolutions, rows])
def test_both_runtimes_agree_with_eager(build: Callable[[], nn.Module], delegate: bool) -> None:
    model, x = build(), image()
    file = lowered(model, x, delegate=delegate).to_executorch().buffer
    method = Runtime.get().load_program(file).load_method("forward")
    assert method.metadata.inputs[0].dim_order == (0, 2, 3, 1)
    assert method.metadata.inputs[0].shape == tuple(x.shape)
    agree(file, model, [[x]], atol=1e-5)
    # xir's runtime puts any tensor in order; stock takes what has the program's order.
    torch.testing.assert_close(method.execute([x.contiguous()]), method.execute([x]))


def test_a_delegate_takes_the_image_as_it_is() -> None:
    module = lowered(convolutions(), image()).module
    assert not any(isinstance(op, xnnpack.StaticTransposeOp) for op in module.walk())


def test_the_order_is_that_of_stocks_own_file() -> None:
    program = export(convolutions().eval(), (image(),))
    file = bytes(stock.compiled(program).buffer)
    assert Runtime.get().load_program(file).metadata().inputs[0].dim_order == (0, 2, 3, 1)


@pytest.mark.parametrize("delegate", [True, False], ids=["delegated", "portable"])
def test_dynamic_batches(delegate: bool) -> None:
    model = convolutions()
    file = lowered(model, image(3), ({0: Dim("batch", max=4)},), delegate=delegate).to_executorch().buffer
    agree(file, model, ([image(batch)] for batch in (1, 4, 2)), atol=1e-5)


def test_other_orders_count_as_torchs_own() -> None:
    # Stock's runtime refuses tensors that are neither contiguous nor images in channels-last memory.
    video = torch.randn(1, 2, 3, 4, 5).to(memory_format=torch.channels_last_3d)
    for x in (video, torch.randn(4, 3, 2, 5).transpose(0, 1)):
        file = lowered(nn.ReLU(), x).to_executorch().buffer
        method = Runtime.get().load_program(file).load_method("forward")
        assert method.metadata.inputs[0].dim_order == tuple(range(x.ndim))
        assert torch.equal(method.execute([x])[0], x.relu())
        assert torch.equal(load_stock(file).forward([x.contiguous()])[0], x.relu())
