"""Batch norms become part of weights only where that keeps the numbers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
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


class ReadTwice(nn.Module):
    """A layer whose result is read with a batch norm and without."""

    def __init__(self, layer: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.layer, self.norm = layer, norm

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x)
        return self.norm(y) + y


class CalledTwice(nn.Module):
    """A convolution with a batch norm behind each of its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.first, self.second = trained(nn.BatchNorm2d(3)), trained(nn.BatchNorm2d(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.conv(torch.relu(self.first(self.conv(x)))))


class Tied(nn.Module):
    """Two convolutions of one weight by two names; the norm is behind one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1, bias=False)
        self.second.weight = self.first.weight
        self.norm = trained(nn.BatchNorm2d(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.norm(self.first(x)))


class OfTheBatch(nn.Module):
    """A norm by the batch's own statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return batch_norm(self.conv(x), None, None, training=True)


IMAGE = r(2, 3, 8, 8)
CASES = {
    "read twice": (ReadTwice(nn.Conv2d(3, 6, 3, padding=1), trained(nn.BatchNorm2d(6))), IMAGE),
    "linear, read twice": (ReadTwice(nn.Linear(8, 6), trained(nn.BatchNorm1d(6))), r(4, 8)),
    "linear of three dimensions": (nn.Sequential(nn.Linear(8, 6), trained(nn.BatchNorm1d(5))), r(4, 5, 8)),
    "called twice": (CalledTwice(), IMAGE),
    "tied": (Tied(), IMAGE),
    "transposed by groups": (nn.Sequential(nn.ConvTranspose2d(3, 6, 3, groups=3), trained(nn.BatchNorm2d(6))), IMAGE),
    "transposed": (nn.Sequential(nn.ConvTranspose2d(3, 6, 3), trained(nn.BatchNorm2d(6))), IMAGE),
    "computed weights": (nn.Sequential(weight_norm(nn.Conv2d(3, 6, 3)), trained(nn.BatchNorm2d(6))), IMAGE),
    "of the batch": (OfTheBatch(), IMAGE),
    "alone": (nn.Sequential(nn.Conv2d(3, 6, 3), nn.Softplus(), trained(nn.BatchNorm2d(6))), IMAGE),
    "part of the weights": (nn.Sequential(nn.Conv2d(3, 6, 3), trained(nn.BatchNorm2d(6))), IMAGE),
}


def decibels(exact: Tensor, actual: Tensor) -> float:
    return 10 * math.log10(float(exact.square().sum() / (exact - actual).square().sum()))


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
    assert decibels(exact, got) > 30
    file = xir.to_edge(quantized).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer
    (ours,) = Runtime.get().load_program(file).load_method().execute([x])
    assert decibels(got, ours) > 40


@pytest.mark.filterwarnings("ignore")
def test_becomes_part_of_weights() -> None:
    module, x = CASES["part of the weights"]
    quantized = xir.quantize(module.eval(), (x,))
    assert not any("batch_norm" in str(node.target) for node in quantized.graph.nodes)
