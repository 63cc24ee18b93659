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
from xir.runtime import Runtime

TOLERANCE = 1e-4
"""Of the output's largest magnitude."""


@pytest.fixture(scope="module")
def network() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return load_model("mv2")


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
