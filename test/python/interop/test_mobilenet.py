"""MobileNetV2 both ways: each runtime runs the file of each compiler, and all agree with torch eager."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.exir import to_edge_transform_and_lower
from reference.runtimes import load_stock

import xir
from xir.models import load_model
from xir.models.vision import torchvision_models
from xir.runtime import Runtime

TOLERANCE = 1e-4
"""Of the output's largest magnitude."""


SHALLOW = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 2]]
"""Each kind of block that MobileNetV2 has: without expansion, with a stride, and with a sum."""


@pytest.fixture(scope="module", params=["shallow", pytest.param("mv2", marks=pytest.mark.exhaustive)])
def network(request: pytest.FixtureRequest) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    if request.param == "mv2":
        return load_model("mv2")
    torch.manual_seed(0)
    model = torchvision_models().MobileNetV2(num_classes=10, inverted_residual_setting=SHALLOW)
    for norm in model.modules():
        if isinstance(norm, torch.nn.BatchNorm2d):
            # Small variances beside epsilon, and activations that ReLU6 cuts off.
            norm.get_buffer("running_mean").normal_()
            norm.get_buffer("running_var").uniform_(1e-3, 1)
    return model.eval(), (torch.randn(1, 3, 96, 96),)


@pytest.fixture(scope="module")
def exported(network: tuple[torch.nn.Module, tuple[torch.Tensor, ...]]) -> torch.export.ExportedProgram:
    return torch.export.export(*network)


@pytest.fixture(scope="module")
def files(exported: torch.export.ExportedProgram) -> dict[str, bytes]:
    """Compiler -> the file that it writes."""
    ours = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()
    stock = to_edge_transform_and_lower(exported, partitioner=[StockPartitioner()]).to_executorch()
    return {"xir": ours.buffer, "executorch": bytes(stock.buffer)}


def run_xir(file: bytes, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    method = Runtime.get().load_program(file).load_method("forward")
    assert (method.metadata.num_delegates, method.metadata.kernel_names) == (1, ())
    (output,) = method.execute(list(inputs))
    return output


def run_stock(file: bytes, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    # The program does not keep the memory of its output alive.
    program = load_stock(file)
    return program.forward(list(inputs))[0].clone()


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("compiler", ["xir", "executorch"])
@pytest.mark.parametrize("run", [run_xir, run_stock])
def test_agrees_with_eager(
    run: Callable[[bytes, tuple[torch.Tensor, ...]], torch.Tensor],
    compiler: str,
    files: dict[str, bytes],
    network: tuple[torch.nn.Module, tuple[torch.Tensor, ...]],
) -> None:
    model, inputs = network
    with torch.no_grad():
        expected = model(*inputs)
    limit = TOLERANCE * expected.abs().max().item()
    torch.testing.assert_close(run(files[compiler], inputs), expected, rtol=0, atol=limit)
