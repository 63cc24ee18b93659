"""Batch norms become part of weights only where that keeps the numbers."""

from __future__ import annotations

import pytest
import torch
from quantizer.signal_to_noise import sqnr
from reference.modules import Calling
from torch import nn
from torch.nn.functional import batch_norm
from torch.nn.utils.parametrizations import weight_norm
from torchao.quantization.pt2e import qat_utils

import xir
from xir.runtime import Runtime

r = torch.randn


def trained(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> nn.Module:
    """A batch norm with statistics and factors that are not 0 and 1."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean.uniform_(-1, 1)
    norm.running_var.uniform_(0.2, 3)
    norm.weight.data.uniform_(0.5, 2)
    norm.bias.data.uniform_(-1, 1)
    return norm


def read_twice(layer: nn.Module, norm: nn.Module) -> nn.Module:
    """A layer whose result is read with a batch norm and without."""
    return Calling(lambda m, x: m.norm(y := m.layer(x)) + y, layer=layer, norm=norm)


def called_twice() -> nn.Module:
    """A convolution with a batch norm behind each of its calls."""
    norms = {"first": trained(nn.BatchNorm2d(3)), "second": trained(nn.BatchNorm2d(3))}
    conv = nn.Conv2d(3, 3, 3, padding=1)
    return Calling(lambda m, x: m.second(m.conv(torch.relu(m.first(m.conv(x))))), conv=conv, **norms)


def tied() -> nn.Module:
    """Two convolutions of one weight by two names; the norm is behind one of them."""
    first, second = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1, bias=False)
    second.weight = first.weight
    return nn.Sequential(first, trained(nn.BatchNorm2d(3)), second)


IMAGE = r(2, 3, 8, 8)
CASES = {
    "read twice": (read_twice(nn.Conv2d(3, 6, 3, padding=1), trained(nn.BatchNorm2d(6))), IMAGE),
    "linear, read twice": (read_twice(nn.Linear(8, 6), trained(nn.BatchNorm1d(6))), r(4, 8)),
    "linear of three dimensions": (nn.Sequential(nn.Linear(8, 6), trained(nn.BatchNorm1d(5))), r(4, 5, 8)),
    "called twice": (called_twice(), IMAGE),
    "tied": (tied(), IMAGE),
    "transposed by groups": (nn.Sequential(nn.ConvTranspose2d(3, 6, 3, groups=3), trained(nn.BatchNorm2d(6))), IMAGE),
    "transposed": (nn.Sequential(nn.ConvTranspose2d(3, 6, 3), trained(nn.BatchNorm2d(6))), IMAGE),
    "computed weights": (nn.Sequential(weight_norm(nn.Conv2d(3, 6, 3)), trained(nn.BatchNorm2d(6))), IMAGE),
    "of the batch": (
        Calling(lambda m, x: batch_norm(m.conv(x), None, None, training=True), conv=nn.Conv2d(3, 6, 3)),
        IMAGE,
    ),
    "alone": (nn.Sequential(nn.Conv2d(3, 6, 3), nn.Softplus(), trained(nn.BatchNorm2d(6))), IMAGE),
    "part of the weights": (nn.Sequential(nn.Conv2d(3, 6, 3), trained(nn.BatchNorm2d(6))), IMAGE),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_numbers_stay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: object) -> None:
        raise AssertionError("patterns of training are exported, which takes half a minute")

    monkeypatch.setattr(qat_utils, "_get_aten_graph_module_for_pattern", search)
    module, x = CASES[name]
    quantized = xir.quantize(module.eval(), (x,))
    with torch.no_grad():
        exact, got = module(x), quantized.module()(x)
    assert sqnr(exact, got) > 30
    file = xir.to_edge(quantized).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer
    (ours,) = Runtime.get().load_program(file).load_method().execute([x])
    assert sqnr(got, ours) > 40


@pytest.mark.filterwarnings("ignore")
def test_becomes_part_of_weights() -> None:
    module, x = CASES["part of the weights"]
    quantized = xir.quantize(module.eval(), (x,))
    assert not any("batch_norm" in str(node.target) for node in quantized.graph.nodes)
