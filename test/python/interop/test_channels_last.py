"""Inputs in channels-last memory: the file takes them in the order of the sample, as stock ExecuTorch's own does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from reference import stock
from reference.modules import Calling
from reference.runtimes import load_stock
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export

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


def agree(got: list[Tensor], want: Tensor | tuple[Tensor, ...]) -> None:
    for each, expected in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        torch.testing.assert_close(torch.as_tensor(each), expected, rtol=1e-5, atol=1e-5)


def lowered(program: ExportedProgram, *, delegate: bool) -> xir.EdgeProgram:
    edge = xir.to_edge(program)
    return edge.to_backend(xir.XnnpackPartitioner()) if delegate else edge


@pytest.mark.parametrize("delegate", [True, False], ids=["delegated", "portable"])
@pytest.mark.parametrize("build", [convolutions, rows])
def test_both_runtimes_agree_with_eager(build: Callable[[], nn.Module], delegate: bool) -> None:
    model, x = build().eval(), image()
    with torch.no_grad():
        want = model(x)
    file = lowered(export(model, (x,)), delegate=delegate).to_executorch().buffer
    method = Runtime.get().load_program(file).load_method("forward")
    assert method.metadata.inputs[0].dim_order == (0, 2, 3, 1)
    assert method.metadata.inputs[0].shape == tuple(x.shape)
    # xir's runtime puts any tensor in order; stock takes what has the program's order.
    agree(method.execute([x]), want)
    agree(method.execute([x.contiguous()]), want)
    agree(load_stock(file).forward([x]), want)


def test_a_delegate_takes_the_image_as_it_is() -> None:
    module = lowered(export(convolutions().eval(), (image(),)), delegate=True).module
    assert not any(isinstance(op, xnnpack.StaticTransposeOp) for op in module.walk())


def test_the_order_is_that_of_stocks_own_file() -> None:
    program = export(convolutions().eval(), (image(),))
    programs = stock.compiled(program), lowered(program, delegate=True).to_executorch()
    found = [Runtime.get().load_program(bytes(each.buffer)).metadata() for each in programs]
    assert found[0].inputs[0].dim_order == found[1].inputs[0].dim_order == (0, 2, 3, 1)


@pytest.mark.parametrize("delegate", [True, False], ids=["delegated", "portable"])
def test_dynamic_batches(delegate: bool) -> None:
    model = convolutions().eval()
    program = export(model, (image(3),), dynamic_shapes=({0: Dim("batch", max=4)},))
    file = lowered(program, delegate=delegate).to_executorch().buffer
    method = Runtime.get().load_program(file).load_method("forward")
    for batch in (1, 4, 2):
        x = image(batch)
        with torch.no_grad():
            agree(method.execute([x]), model(x))


def test_other_orders_count_as_torchs_own() -> None:
    # Stock's runtime refuses tensors that are neither contiguous nor images in channels-last memory.
    video = torch.randn(1, 2, 3, 4, 5).to(memory_format=torch.channels_last_3d)
    for x in (video, torch.randn(4, 3, 2, 5).transpose(0, 1)):
        file = lowered(export(nn.ReLU(), (x,)), delegate=True).to_executorch().buffer
        method = Runtime.get().load_program(file).load_method("forward")
        assert method.metadata.inputs[0].dim_order == tuple(range(x.ndim))
        agree(method.execute([x]), x.relu())
        agree(load_stock(file).forward([x.contiguous()]), x.relu())
