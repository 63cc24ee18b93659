"""Norms whose results are scaled before products: the same results, for a better use of the integers."""

from __future__ import annotations

import copy
from typing import Any, Literal

import pytest
import torch
from quantizer.signal_to_noise import quality
from torch import Tensor, nn
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

import xir
from xir.quantizer import QuantConfig, XnnpackQuantizer
from xir.quantizer.measurement import without_observers
from xir.quantizer.side_by_side import run_alone
from xir.quantizer.smoothing import smooth

pytestmark = pytest.mark.filterwarnings("ignore")

Mode = Literal["static", "dynamic"]
CHANNELS = 32
OUTLIERS = [3, 17]
TEXTS = [(torch.randn(2, 12, CHANNELS, generator=torch.Generator().manual_seed(seed)),) for seed in range(8)]


class ScaledNorm(nn.Module):
    """A root mean square norm by hand, as decoders write it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(CHANNELS))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6))


class Block(nn.Module):
    """Two products of a norm's result; a residual sum may read it as well, as in BERT."""

    def __init__(self, norm: nn.Module, *, is_post: bool) -> None:
        super().__init__()
        self.norm, self.is_post = norm, is_post
        self.gate, self.up, self.down = (nn.Linear(CHANNELS, CHANNELS) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        z = self.down(torch.tanh(self.gate(y)) * self.up(y))
        return nn.functional.layer_norm(z + y, (CHANNELS,)) if self.is_post else z


def block(norm: type[nn.Module] | Any = nn.LayerNorm, *, is_post: bool = False, largest: float = 60.0) -> nn.Module:
    """Two channels of the norm are much larger than the others, and their weights smaller, as in trained models."""
    torch.manual_seed(0)
    model = Block(norm() if norm is ScaledNorm else norm(CHANNELS), is_post=is_post).eval()
    with torch.no_grad():
        model.norm.weight[OUTLIERS] = largest  # pyright: ignore
        for layer in (model.gate, model.up):
            layer.weight[:, OUTLIERS] /= largest
    return model


def observed_graph(model: nn.Module, mode: Mode) -> GraphModule:
    module = torch.export.export(model, TEXTS[0]).module()
    assert isinstance(module, GraphModule)
    return prepare_pt2e(module, XnnpackQuantizer(QuantConfig(mode)))


def products(graph: GraphModule) -> int:
    return sum(node.target is torch.ops.aten.mul.Tensor for node in graph.graph.nodes)


before_and_behind = pytest.mark.parametrize(
    ("is_post", "mode"),
    [
        (False, "static"),
        (True, "dynamic"),
        pytest.param(False, "dynamic", marks=pytest.mark.exhaustive),
        pytest.param(True, "static", marks=pytest.mark.exhaustive),
    ],
)
"""A norm before a layer or behind it, in either mode; either of each in `make test`."""


@before_and_behind
@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.RMSNorm, ScaledNorm])
def test_results_stay_to_the_last_bit(norm: type[nn.Module], is_post: bool, mode: Mode) -> None:
    model = block(norm, is_post=is_post)
    before = copy.deepcopy(model.state_dict())
    observed = observed_graph(model, mode)
    count = products(observed)
    assert smooth(observed, TEXTS) == 1
    assert products(observed) == count + is_post, "a norm that nothing else reads takes the factors in"
    scaled = without_observers(observed)
    changed = {name for name, value in observed.named_parameters() if not torch.equal(value, before.get(name, value))}
    assert changed >= {"gate.weight", "up.weight"}
    assert ("norm.weight" in changed) == (not is_post)
    for text in TEXTS:
        with torch.no_grad():
            assert torch.equal(run_alone(scaled, text)[0], model(*text))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@before_and_behind
def test_the_gain(is_post: bool, mode: Mode) -> None:
    model = block(is_post=is_post)
    model.norm.weight.data[OUTLIERS] *= 2  # pyright: ignore

    def gain(*, smoothing: bool) -> float:
        config = QuantConfig(mode, smoothing=smoothing)
        return quality(model, xir.quantize(model, TEXTS[0], TEXTS, config, verify=True), TEXTS)

    assert gain(smoothing=True) > gain(smoothing=False) + 5


@before_and_behind
def test_channels_that_are_alike_stay(is_post: bool, mode: Mode) -> None:
    observed = observed_graph(block(is_post=is_post, largest=1.0), mode)
    assert smooth(observed, TEXTS) == 0


def test_sample_inputs_decide_nothing_in_dynamic_mode() -> None:
    model = block()
    config = QuantConfig("dynamic")
    plain = xir.quantize(model, TEXTS[0], config=QuantConfig("dynamic", smoothing=False))
    given = xir.quantize(model, TEXTS[0], TEXTS, config)
    found = xir.quantize(model, TEXTS[0], config=config)
    assert torch.equal(*outputs(plain, found))
    assert not torch.equal(*outputs(plain, given))


def outputs(*programs: Any) -> list[Tensor]:
    with torch.no_grad():
        return [program.module()(*TEXTS[0]) for program in programs]


def test_weights_of_4_bits_and_weights_read_twice_stay() -> None:
    model = block(is_post=False)
    module = torch.export.export(model, TEXTS[0]).module()
    assert isinstance(module, GraphModule)
    assert smooth(prepare_pt2e(module, XnnpackQuantizer(QuantConfig("int4"))), TEXTS) == 0
    shared = block(is_post=False)
    shared.up = shared.gate  # pyright: ignore
    assert smooth(observed_graph(shared, "dynamic"), TEXTS) == 0


def test_values_that_are_infinite_stay_as_they_are() -> None:
    observed = observed_graph(block(), "dynamic")
    assert smooth(observed, [(torch.full((2, 12, CHANNELS), torch.inf),)]) == 0


def test_best_rounds_dynamic_layers_for_their_outputs() -> None:
    """Inputs that go together: errors of neighbouring weights make up for each other."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 16)).eval()
    mixed = torch.randn(8, 64)
    rows = [(torch.randn(64, 8) @ mixed,) for _ in range(8)]

    def gain(effort: Literal["fast", "best"]) -> float:
        program = xir.quantize(model, rows[0], rows, QuantConfig("dynamic", effort=effort), verify=True)
        return quality(model, program, rows)

    assert gain("best") > gain("fast") + 1
