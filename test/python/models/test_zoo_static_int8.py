"""Models of the zoo in static int8: one delegate, the arithmetic of each layer, accuracy, and both runtimes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.exir import to_edge_transform_and_lower
from reference.integers import InDoublePrecision, agreements, graph_of, output_step
from reference.runtimes import load_stock
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule

from bench.quantization import calibration_inputs, gather_statistics, quantize_stock, quantize_xir, sqnr
from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack
from xir.models import load_model
from xir.runtime import Runtime

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PEERS = {
    "mv2": 13.2,
    "mv3": 18.0,
    "mv3_large": 14.1,
    "resnet18": 28.7,
    "resnet50": 15.4,
    "efficientnet_b0": 12.5,
    "vit": 27.5,
}
"""dB, the best of ExecuTorch 1.5, LiteRT 2.3, ONNX Runtime 1.31 and OpenVINO 2026.4, on such weights."""

IN_PIECES = {"vit"}
"""Stock leaves layer norms and softmaxes of these to portable kernels, of which each runtime has its own. Their last
bits differ, which later roundings magnify: both runtimes are compared with PyTorch."""

BLOCKS = 4
"""Of MobileNetV3 `make test` takes the first ones: a gate, strides, a sum, and both activations. Quantising takes half
a second for each layer. The whole models are for `make test-zoo`."""

BEGINNING = "beginning of mv3"
REACHED = 25.8
"""dB; no other was measured on it."""

ROUNDINGS = 1e-5
"""Elements of a program, for each one that may differ by a step: sums that lie between two integers but for the last
bits of fp32."""

SUMS = 3e-4
"""The same for one tensor: XNNPACK adds int8 in fixed point, whose factors have 20 bits (src/microparams-init.c), and
128 times their error is 1e-4 of a step."""

Inputs = tuple[Tensor, ...]
Run = Callable[..., Tensor]


@dataclass
class Quantized:
    """A model, quantised and lowered."""

    name: str
    model: torch.nn.Module
    images: list[Inputs]
    program: ExportedProgram
    graph: GraphModule
    file: bytes
    outside: list[str]
    delegates: int

    def on_all(self, run: Run) -> list[Tensor]:
        """The output for each image."""
        with torch.no_grad():
            return [run(*image).float() for image in self.images]


def beginning() -> tuple[torch.nn.Module, Inputs]:
    """Blocks of MobileNetV3, with a head of their own."""
    model, (image,) = load_model("mv3")
    features = model.get_submodule("features")
    assert isinstance(features, torch.nn.Sequential)
    torch.manual_seed(0)
    head = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.LazyLinear(10))
    small, image = torch.nn.Sequential(features[: BLOCKS + 1], head).eval(), image[..., :96, :96].contiguous()
    small(image)  # which tells the head how many channels there are
    return small, (image,)


@pytest.fixture(scope="module", params=[BEGINNING, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in PEERS)])
def quantized(request: pytest.FixtureRequest) -> Quantized:
    """The model quantised on eight images."""
    model, sample = beginning() if request.param == BEGINNING else load_model(request.param)
    images = calibration_inputs(sample)
    gather_statistics(model, images)
    program = quantize_xir(model, sample, images, "static")
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    ops = list(lowered.module.walk())
    outside = [op.name for op in ops if isinstance(op, edge.EdgeOp)]
    delegates = sum(isinstance(op, xnnpack.SubgraphOp) for op in ops)
    file = bytes(lowered.to_executorch().buffer)
    return Quantized(request.param, model, images, program, graph_of(program), file, outside, delegates)


def xir_runs(file: bytes) -> Run:
    """A file in xir's runtime."""
    method = Runtime.get().load_program(file).load_method("forward")
    return lambda *inputs: torch.as_tensor(method.execute(list(inputs))[0]).clone()


def stock_runs(file: bytes) -> Run:
    """A file in ExecuTorch's runtime."""
    module = load_stock(file)
    return lambda *inputs: module.forward(list(inputs))[0].clone()


def furthest(results: list[Tensor], others: list[Tensor]) -> float:
    """The largest difference."""
    return max(float((a - b).abs().max()) for a, b in zip(results, others, strict=True))


def test_one_delegate_takes_all(quantized: Quantized) -> None:
    assert (quantized.delegates, quantized.outside) == (1, [])


@pytest.mark.exhaustive
def test_each_layer_computes_what_its_form_in_pytorch_does(quantized: Quantized) -> None:
    """From the same integers. However deep the model, this does not grow. `make test` has it of random graphs."""
    found = agreements(quantized.program, quantized.images[:2])
    assert max(each.largest for each in found) <= 1
    assert sum(each.different for each in found) <= ROUNDINGS * sum(each.elements for each in found)
    assert all(each.different <= 2 + SUMS * each.elements for each in found)


def test_the_program_is_as_near_to_its_graph_as_the_graph_determines(quantized: Quantized) -> None:
    """One element that is rounded the other way moves all that follow: the graph in fp64 moves about as far."""
    graph = quantized.on_all(lambda *image: quantized.graph(*image)[0])
    exact = quantized.on_all(lambda *image: InDoublePrecision(quantized.graph).run(*image)[0])
    computed = quantized.on_all(xir_runs(quantized.file))
    assert sqnr(computed, graph) >= min(30, sqnr(exact, graph) - 6)


def test_the_program_is_as_near_to_the_model_as_the_best(quantized: Quantized) -> None:
    wanted = quantized.on_all(quantized.model)
    assert sqnr(quantized.on_all(xir_runs(quantized.file)), wanted) >= PEERS.get(quantized.name, REACHED) - 0.5


def test_stock_computes_the_same(quantized: Quantized) -> None:
    ours, stock = (quantized.on_all(runs(quantized.file)) for runs in (xir_runs, stock_runs))
    assert furthest(ours, stock) <= 1.001 * output_step(quantized.graph)


@pytest.mark.exhaustive
def test_stocks_own_file_runs(quantized: Quantized) -> None:
    """Quantised and lowered by stock alone, which takes up to minutes."""
    program = quantize_stock(quantized.model, quantized.images[0], quantized.images, "static")
    lowered = to_edge_transform_and_lower(program, partitioner=[StockPartitioner()]).to_executorch()
    file = bytes(lowered.buffer)
    graph = graph_of(program)
    ours, stock = (quantized.on_all(runs(file)) for runs in (xir_runs, stock_runs))
    if quantized.name in IN_PIECES:
        wanted = quantized.on_all(lambda *image: graph(*image)[0])
        assert sqnr(ours, wanted) >= sqnr(stock, wanted) - 3
    else:
        assert furthest(ours, stock) <= 1.001 * output_step(graph)
