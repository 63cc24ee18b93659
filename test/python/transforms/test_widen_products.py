"""A quantised product that computes in fp32 agrees with PyTorch's own emulation, and takes no more bytes than asked."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import pytest
import torch
from torch import Tensor
from xdsl.dialects.builtin import f32

import xir
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.walking import ops_in
from xir.runtime import Runtime
from xir.transforms.xnnpack.schedule.widen_products import Product, WidenProductsPass


@dataclass
class Quantized:
    """A layer of few terms, its int8 program as PyTorch emulates it, and inputs."""

    layer: torch.nn.Module
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        torch.manual_seed(2)
        model = torch.nn.Sequential(self.layer, torch.nn.ReLU6()).eval()
        self.images = [torch.randn(self.shape) for _ in range(4)]
        self.program = xir.quantize(model, (self.images[0],), [(image,) for image in self.images])

    def lowered(self, cpu: str, max_growth: float | None = None, bit_exact: bool = False) -> xir.EdgeProgram:
        partitioner = xir.XnnpackPartitioner(cpu=cpu, max_growth=max_growth, bit_exact=bit_exact)
        return xir.to_edge(self.program).to_backend(partitioner)


LAYERS = {
    "pointwise": (lambda: torch.nn.Conv2d(8, 24, 1), (1, 8, 28, 28)),
    "linear": (lambda: torch.nn.Linear(8, 24), (4, 196, 8)),
    "no bias": (lambda: torch.nn.Conv2d(8, 24, 1, bias=False), (2, 8, 28, 28)),
}


def quantized(name: str) -> Quantized:
    make, shape = LAYERS[name]
    return Quantized(make(), shape)


def is_wide(edge: xir.EdgeProgram) -> bool:
    """Whether its product computes in fp32."""
    (node,) = ops_in(edge.module, Product)
    return element_type(node.input) == f32


@pytest.mark.parametrize("cpu", ["any", "zen3"])
@pytest.mark.parametrize("name", LAYERS)
def assert_agrees(edge: xir.EdgeProgram, program: torch.export.ExportedProgram, inputs: tuple[Tensor, ...]) -> None:
    """Results are those of PyTorch's emulation, to one step."""
    found = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute(inputs)
    expected = program.module()(*inputs)
    for got, want in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        step = want.unique().diff().min()
        difference = (torch.as_tensor(got) - want).abs()
        assert difference.max() <= 1.001 * step
        # Steps apart are what sums in another order round differently.
        assert (difference > step / 2).float().mean() < 0.01


@pytest.mark.parametrize("cpu", ["any", "zen3"])
@pytest.mark.parametrize("name", LAYERS)
def test_agrees_with_the_quantized_program_in_eager(name: str, cpu: str) -> None:
    layer = quantized(name)
    edge = layer.lowered(cpu)
    assert is_wide(edge) == (cpu == "zen3")
    for image in layer.images:
        assert_agrees(edge, layer.program, (image,))


def test_no_more_bytes_than_asked() -> None:
    """The filter of 192 bytes takes 768 in fp32; beside it are 96 of the bias."""
    layer = quantized("pointwise")
    assert [is_wide(layer.lowered("zen3", growth)) for growth in (0.0, 1.9, 2.1, inf, None)] == [False, False] + [
        True
    ] * 3


def test_the_same_bits_stay_on_integers() -> None:
    """A sum in fp32 that is halfway between two integers depends on its order."""
    assert not is_wide(quantized("pointwise").lowered("zen3", bit_exact=True))


def test_one_filter_of_two_products() -> None:
    class Shared(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 24)

        def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return self.layer(x), self.layer(y)

    torch.manual_seed(2)
    inputs = torch.randn(784, 8), torch.randn(784, 8)
    program = xir.quantize(Shared().eval(), inputs, [inputs])
    edge = xir.to_edge(program).to_backend(xir.XnnpackPartitioner(cpu="zen3"))
    assert [element_type(node.input) for node in ops_in(edge.module, xnnpack.FullyConnectedOp)] == [f32, f32]
    assert_agrees(edge, program, inputs)


def test_options_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="cpu is one of any, x86, "):
        WidenProductsPass(cpu="pdp11")
    with pytest.raises(ValueError, match="max-growth is a share from 0 on, not -1"):
        WidenProductsPass(max_growth=-1.0)
