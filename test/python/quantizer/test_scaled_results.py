"""Results that floating point alone reads are scaled by channel: the same results, for a better use of the integers."""

from __future__ import annotations

import copy

import pytest
import torch
from quantizer.signal_to_noise import quality
from torch import Tensor, nn
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

import xir
from xir.quantizer import QuantConfig, XnnpackQuantizer
from xir.quantizer.measurement import without_observers
from xir.quantizer.scaled_results import scale_results
from xir.quantizer.side_by_side import run_alone
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")

CHANNELS = 32
OUTLIERS = [3, 17]
TEXTS = [(torch.randn(2, 12, CHANNELS, generator=torch.Generator().manual_seed(seed)),) for seed in range(8)]


class FeedForward(nn.Module):
    """What a transformer adds to its residual sum, which a norm alone reads; some of its layers may be the same."""

    def __init__(self, *, bias: bool = True, blocks: int = 1) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(CHANNELS, 64), nn.Linear(64, CHANNELS, bias=bias)
        self.drop, self.norm, self.blocks = nn.Dropout(0.1), nn.LayerNorm(CHANNELS), blocks

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.blocks):
            x = self.norm(x + self.drop(self.down(nn.functional.gelu(self.up(x)))))
        return x


def feed_forward(*, largest: float = 60.0, bias: bool = True, blocks: int = 1) -> FeedForward:
    """Two channels of the result are much larger than the others, which the norm makes up for."""
    torch.manual_seed(0)
    model = FeedForward(bias=bias, blocks=blocks).eval()
    with torch.no_grad():
        model.down.weight[OUTLIERS] *= largest
        model.norm.weight[OUTLIERS] /= largest
    return model


def observed_graph(model: nn.Module, config: QuantConfig | None = None) -> GraphModule:
    module = torch.export.export(model, TEXTS[0]).module()
    assert isinstance(module, GraphModule)
    return prepare_pt2e(module, XnnpackQuantizer(config or QuantConfig()))


def multiplications(graph: GraphModule) -> int:
    return sum(node.target is torch.ops.aten.mul.Tensor for node in graph.graph.nodes)


@pytest.mark.parametrize(("bias", "blocks"), [(True, 1), (False, 1), (True, 3)])
def test_results_stay_to_the_last_bit(bias: bool, blocks: int) -> None:
    """Also where several layers have one weight, as in ALBERT."""
    model = feed_forward(bias=bias, blocks=blocks)
    before = copy.deepcopy(model.state_dict())
    observed = observed_graph(model)
    assert scale_results(observed, TEXTS) == 1
    assert multiplications(observed) == blocks
    changed = {name for name, value in observed.named_parameters() if not torch.equal(value, before.get(name, value))}
    assert changed == ({"down.weight", "down.bias"} if bias else {"down.weight"})
    scaled = without_observers(observed)
    for text in TEXTS:
        with torch.no_grad():
            assert torch.equal(run_alone(scaled, text)[0], model(*text))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_gain(blocks: int) -> None:
    model = feed_forward(blocks=blocks)

    def gain(*, smoothing: bool) -> float:
        return quality(
            model, xir.quantize(model, TEXTS[0], TEXTS, QuantConfig(smoothing=smoothing), verify=True), TEXTS
        )

    assert gain(smoothing=True) > gain(smoothing=False) + 5


@pytest.mark.parametrize("blocks", [1, 3])
def test_compiled(blocks: int) -> None:
    """As near to the float model as PyTorch's emulation; sums halfway between two integers may be rounded otherwise."""
    model = feed_forward(blocks=blocks)
    program = xir.quantize(model, TEXTS[0], TEXTS)
    lowered = xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    for text in TEXTS[:2]:
        found, want, exact = (torch.as_tensor(method.execute(text)[0]), program.module()(*text), model(*text))
        assert (found - exact).square().mean() < 1.2 * (want - exact).square().mean()


def test_channels_that_are_alike_stay() -> None:
    assert scale_results(observed_graph(feed_forward(largest=1.0)), TEXTS) == 0


def test_channels_that_only_some_inputs_use_stay() -> None:
    """As the results of classes, of which an input has one: those that calibration has not seen would be cut off."""
    layer = nn.Linear(CHANNELS, CHANNELS, bias=False)
    rows = torch.eye(CHANNELS)[:, None, None].expand(-1, 2, 12, -1)
    nn.init.eye_(layer.weight)
    with torch.no_grad():
        layer.weight[[0, 4], [0, 4]] = 60.0
    assert scale_results(observed_graph(layer.eval()), [(row,) for row in rows[:8]]) == 0


def test_results_that_integers_read_stay() -> None:
    """The activation between two layers is a table of integers; in dynamic mode no result is."""

    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.last = feed_forward().down, nn.Linear(CHANNELS, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(torch.tanh(self.down(torch.cat([x, x], -1))))

    assert scale_results(observed_graph(Chain().eval()), TEXTS) == 0
    assert scale_results(observed_graph(feed_forward(), QuantConfig("dynamic")), TEXTS) == 0


def test_a_weight_that_something_else_reads_stays() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = feed_forward()

        def forward(self, x: Tensor) -> Tensor:
            return self.first(x) @ self.first.down.weight

    assert scale_results(observed_graph(Tied().eval()), TEXTS) == 0


def test_values_that_are_infinite_or_zero_stay_as_they_are() -> None:
    assert scale_results(observed_graph(feed_forward()), [(torch.full((2, 12, CHANNELS), torch.inf),)]) == 0
    model = feed_forward(bias=False)
    nn.init.zeros_(model.down.weight)
    assert scale_results(observed_graph(model), TEXTS) == 0


class Twice(nn.Module):
    """One layer for what comes in, and for other numbers, each result for a norm."""

    def __init__(self, weight: Tensor, other: Tensor) -> None:
        super().__init__()
        self.layer, self.other = nn.Linear(CHANNELS, CHANNELS), nn.Parameter(other)
        with torch.no_grad():
            self.layer.weight.copy_(weight)

    def forward(self, x: Tensor) -> Tensor:
        first, second = (nn.functional.layer_norm(self.layer(each), (CHANNELS,)) for each in (x, x * self.other))
        return first + second


def outliers(**at: float) -> Tensor:
    """Ones but for the channels `cN`."""
    found = torch.ones(CHANNELS)
    for name, factor in at.items():
        found[int(name[1:])] = factor
    return found


def check(model: nn.Module, weights: int, texts: list[tuple[Tensor]] = TEXTS) -> GraphModule:
    """So many weights are scaled, and the results stay to the last bit."""
    observed = observed_graph(model.eval())
    assert scale_results(observed, texts) == weights
    for text in texts:
        with torch.no_grad():
            assert torch.equal(run_alone(without_observers(observed), text)[0], model(*text))
    return observed


def test_factors_are_of_all_layers_with_the_weight() -> None:
    """The largest number of any has 1, and none reaches more than that; a channel without numbers is no exception."""
    model = Twice(torch.eye(CHANNELS) * outliers(c3=60, c8=0), outliers(c3=0.1, c17=60))
    with torch.no_grad():
        model.layer.bias[8] = 0
    observed = check(model, 1)
    rows = torch.cat([row for (row,) in TEXTS]).flatten(0, 1)
    rows = torch.cat([rows, rows * model.other])
    weight, bias = (observed.get_parameter(f"layer.{name}") for name in ("weight", "bias"))
    with torch.no_grad():
        before, after = model.layer(rows).abs().amax(0), nn.functional.linear(rows, weight, bias).abs().amax(0)
    assert after.max() == before.max()
    assert (after[before > 0] > before.max() / 2).all()
    assert (before > before.max() / 2).sum() <= 2


def test_all_layers_with_a_weight_have_to_gain() -> None:
    """Channels of the second layer's results are alike."""
    check(Twice(torch.eye(CHANNELS) * outliers(c3=60), outliers(c3=1 / 60)), 0)
    check(Twice(torch.eye(CHANNELS) * outliers(c3=60), outliers(c3=1.5)), 1)


def test_both_halves_of_the_inputs_have_to_gain() -> None:
    """The first one lacks the channel that is larger than the others."""
    layer = nn.Linear(CHANNELS, CHANNELS, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(CHANNELS) * outliers(c3=60))
    texts = [(text.clone(),) for (text,) in TEXTS]
    check(layer, 1, texts)
    for (text,) in texts[:4]:
        text[..., 3] = 0
    check(layer, 0, texts)
