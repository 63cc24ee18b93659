"""Results that floating point alone reads are scaled by channel: the same results, for a better use of the integers."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import assert_results_stay, observed_graph, quality
from reference.modules import Calling
from torch import Tensor, nn
from torch.fx import GraphModule

import xir
from xir.quantizer import QuantConfig
from xir.quantizer.scaled_results import scale_results
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")

CHANNELS = 32
OUTLIERS = [3, 17]
TEXTS = [(torch.randn(2, 12, CHANNELS, generator=torch.Generator().manual_seed(seed)),) for seed in range(8)]


def feed_forward(*, largest: float = 60.0, bias: bool = True, blocks: int = 1) -> Calling:
    """What a transformer adds to its residual sum, which a norm alone reads; some of its layers may be the same.

    Two channels of the result are much larger than the others, which the norm makes up for.
    """

    def forward(m: Any, x: Tensor) -> Tensor:
        for _ in range(blocks):
            x = m.norm(x + m.drop(m.down(nn.functional.gelu(m.up(x)))))
        return x

    torch.manual_seed(0)
    up, down, norm = nn.Linear(CHANNELS, 64), nn.Linear(64, CHANNELS, bias=bias), nn.LayerNorm(CHANNELS)
    with torch.no_grad():
        down.weight[OUTLIERS] *= largest
        norm.weight[OUTLIERS] /= largest
    model = Calling(forward, up=up, down=down, drop=nn.Dropout(0.1), norm=norm)
    model.eval()
    return model


def scaled(model: nn.Module, texts: list[tuple[Tensor]] = TEXTS, config: QuantConfig | None = None) -> int:
    """How many weights are scaled."""
    return scale_results(observed_graph(model, TEXTS[0], config), texts)


def check(model: nn.Module, weights: int, texts: list[tuple[Tensor]] = TEXTS) -> GraphModule:
    """So many weights are scaled, and the results stay to the last bit."""
    observed = observed_graph(model, TEXTS[0])
    assert scale_results(observed, texts) == weights
    assert_results_stay(observed, model, texts, 0, 0)
    return observed


def multiplications(graph: GraphModule) -> int:
    return sum(node.target is torch.ops.aten.mul.Tensor for node in graph.graph.nodes)


@pytest.mark.parametrize(("bias", "blocks"), [(True, 1), (False, 1), (True, 3)])
def test_results_stay_to_the_last_bit(bias: bool, blocks: int) -> None:
    """Also where several layers have one weight, as in ALBERT."""
    model = feed_forward(bias=bias, blocks=blocks)
    before = copy.deepcopy(model.state_dict())
    observed = check(model, 1)
    assert multiplications(observed) == blocks
    changed = {name for name, value in observed.named_parameters() if not torch.equal(value, before.get(name, value))}
    assert changed == ({"down.weight", "down.bias"} if bias else {"down.weight"})
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_gain(blocks: int) -> None:
    """The file is as near to the float model as PyTorch's emulation; sums halfway between two integers may be rounded
    otherwise."""
    model = feed_forward(blocks=blocks)
    program, plain = (
        xir.quantize(model, TEXTS[0], TEXTS, QuantConfig(smoothing=each), verify=True) for each in (True, False)
    )
    assert quality(model, program, TEXTS) > quality(model, plain, TEXTS) + 5
    lowered = xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    for text in TEXTS[:2]:
        found, want, exact = (torch.as_tensor(method.execute(text)[0]), program.module()(*text), model(*text))
        assert (found - exact).square().mean() < 1.2 * (want - exact).square().mean()


def test_channels_that_only_some_inputs_use_stay() -> None:
    """As the results of classes, of which an input has one: those that calibration has not seen would be cut off."""
    layer = nn.Linear(CHANNELS, CHANNELS, bias=False)
    rows = torch.eye(CHANNELS)[:, None, None].expand(-1, 2, 12, -1)
    nn.init.eye_(layer.weight)
    with torch.no_grad():
        layer.weight[[0, 4], [0, 4]] = 60.0
    assert scaled(layer, [(row,) for row in rows[:8]]) == 0


def test_what_stays() -> None:
    assert scaled(feed_forward(largest=1.0)) == 0, "channels are alike"
    down, last = feed_forward().down, nn.Linear(CHANNELS, 4)
    chain = Calling(lambda m, x: m.last(torch.tanh(m.down(torch.cat([x, x], -1)))), down=down, last=last)
    assert scaled(chain) == 0, "integers read it: the activation between two layers is a table of them"
    assert scaled(feed_forward(), config=QuantConfig("dynamic")) == 0, "no result is of integers"
    tied = Calling(lambda m, x: m.first(x) @ m.first.down.weight, first=feed_forward())
    assert scaled(tied) == 0, "something else reads the weight"
    assert scaled(feed_forward(), [(torch.full((2, 12, CHANNELS), torch.inf),)]) == 0
    zeros = feed_forward(bias=False)
    nn.init.zeros_(zeros.down.weight)
    assert scaled(zeros) == 0


def twice(weight: Tensor, other: Tensor) -> Calling:
    """One layer for what comes in, and for other numbers, each result for a norm."""

    def forward(m: Any, x: Tensor) -> Tensor:
        first, second = (nn.functional.layer_norm(m.layer(each), (CHANNELS,)) for each in (x, x * m.other))
        return first + second

    layer = nn.Linear(CHANNELS, CHANNELS)
    with torch.no_grad():
        layer.weight.copy_(weight)
    return Calling(forward, layer=layer, other=nn.Parameter(other))


def outliers(**at: float) -> Tensor:
    """Ones but for the channels `cN`."""
    found = torch.ones(CHANNELS)
    for name, factor in at.items():
        found[int(name[1:])] = factor
    return found


def test_factors_are_of_all_layers_with_the_weight() -> None:
    """The largest number of any has 1, and none reaches more than that; a channel without numbers is no exception."""
    model = twice(torch.eye(CHANNELS) * outliers(c3=60, c8=0), outliers(c3=0.1, c17=60))
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
    check(twice(torch.eye(CHANNELS) * outliers(c3=60), outliers(c3=1 / 60)), 0)
    check(twice(torch.eye(CHANNELS) * outliers(c3=60), outliers(c3=1.5)), 1)


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
