"""Channels that are scaled: the same results, for a better use of the integers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import assert_results_stay, observed_graph, quality
from reference.modules import Calling, Function
from torch import Tensor, nn
from torch.fx import GraphModule

import xir
from xir.quantizer import QuantConfig
from xir.quantizer.channels import find_groups
from xir.quantizer.equalization import FEW, LARGEST_FACTOR, equalize
from xir.quantizer.measurement import without_observers
from xir.quantizer.side_by_side import run_alone

pytestmark = pytest.mark.filterwarnings("ignore")


def residual_sums(m: Any, x: Tensor) -> Tensor:
    """Sums of projections, expanded, clamped and filtered by channel, as in MobileNetV2, and a pooled head."""
    x = m.first(x)
    x = x + m.second(x)
    x = x + m.project(torch.relu(m.deep(m.relu6(m.expand(x)))))
    return m.head(torch.flatten(nn.functional.adaptive_avg_pool2d(m.last(x), 1), 1))


def spread(model: nn.Module) -> nn.Module:
    """Output channels of very different sizes, as folded batch norms make them."""
    generator = torch.Generator().manual_seed(2)
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            factors = torch.exp(1.5 * torch.randn(layer.out_channels, generator=generator))
            layer.weight.data *= factors.view(-1, 1, 1, 1)
    return model


def residual(last: Callable[[Tensor], Tensor] = torch.relu) -> nn.Module:
    torch.manual_seed(1)
    first, second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 1)
    expand, deep = nn.Conv2d(8, 24, 1), nn.Conv2d(24, 24, 3, padding=1, groups=24)
    parts = {
        "first": first,
        "second": second,
        "expand": expand,
        "deep": deep,
        "project": nn.Conv2d(24, 8, 1),
        "relu6": nn.ReLU6(True),
    }
    return spread(Calling(residual_sums, **parts, head=nn.Linear(8, 10), last=Function(last))).eval()


IMAGES = [(torch.randn(2, 3, 12, 12, generator=torch.Generator().manual_seed(seed)),) for seed in range(6)]


def names_of(observed: GraphModule) -> set[str]:
    """What is scaled."""
    return {scaled.name for group in find_groups(observed) for scaled in (*group.producers, *group.consumers)}


def test_results_stay() -> None:
    model = residual()
    before = copy.deepcopy(model.state_dict())
    observed = observed_graph(model, IMAGES[0])
    assert equalize(observed, IMAGES) == 3
    assert_results_stay(observed, model, IMAGES, 1e-4, 1e-5)
    changed = [name for name, value in observed.named_parameters() if not torch.equal(value, before[name])]
    assert len(changed) > 6
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_channels_of_a_filter_reach_as_far() -> None:
    """Weights of a depthwise convolution have a scale for each channel: what it reads is scaled as far as the clamp and
    the largest factor allow."""
    observed = observed_graph(residual(), IMAGES[0])
    group = next(each for each in find_groups(observed) if not each.mixing)
    ((clamp, bound),) = group.bounds.items()

    def reached() -> Tensor:
        graph, found = without_observers(observed), []
        graph.graph.output(next(node for node in graph.graph.nodes if node.name == clamp.name))
        for node in list(graph.graph.nodes)[:-1]:
            if node.op == "output":
                graph.graph.erase_node(node)
        for image in IMAGES:
            found.append(run_alone(graph, image)[0].abs().amax((0, 2, 3)))
        return torch.stack(found).amax(0)

    before = reached()
    equalize(observed, IMAGES)
    alive = before > 1e-3
    with_many = (before * LARGEST_FACTOR**0.5).clamp(max=min(float(before.max()), bound))
    expected = before * (with_many / before) ** (144 / (144 + FEW**2))  # from twelve images
    torch.testing.assert_close(reached()[alive], expected[alive], rtol=1e-3, atol=1e-3)


def test_the_gain() -> None:
    model = residual()

    def gain(*, equalization: bool) -> float:
        config = QuantConfig(equalization=equalization, observer="minmax")
        return quality(model, xir.quantize(model, IMAGES[0], IMAGES, config), IMAGES)

    assert gain(equalization=True) > gain(equalization=False) + 2


@pytest.mark.parametrize("seed", range(3))
def test_few_inputs_change_little(seed: int) -> None:
    """What a channel reaches on two images is not what it reaches on others: MobileNetV2 with ImageNet weights had 9.8
    dB on other photographs than the one that it was calibrated with, and 19.9 without equalisation."""
    torch.manual_seed(seed)
    images = [(torch.randn(1, 16, 6, 6) * torch.exp(torch.randn(16)).view(-1, 1, 1),) for _ in range(40)]
    parts = {"first": nn.Conv2d(16, 16, 1, groups=16), "second": nn.Conv2d(16, 16, 3, groups=16)}
    model = Calling(lambda m, x: m.second(torch.relu(m.first(x))), **parts).eval()

    def on_others(*, equalization: bool) -> float:
        config = QuantConfig(equalization=equalization, observer="minmax")
        return quality(model, xir.quantize(model, images[0], images[:2], config), images[2:])

    assert on_others(equalization=True) > on_others(equalization=False) - 1.5


@pytest.mark.parametrize("last", [torch.sigmoid, nn.functional.hardswish, lambda x: x + 1, lambda x: x.flip(1)])
def test_what_is_read_by_anything_else_stays(last: Callable[[Tensor], Tensor]) -> None:
    """The residual stream has another reader: only what lies within a block is scaled."""
    model = residual(last)
    observed = observed_graph(model, IMAGES[0])
    assert "first.weight" not in names_of(observed)
    assert "expand.weight" in names_of(observed)
    equalize(observed, IMAGES)
    assert_results_stay(observed, model, IMAGES[:1], 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("clamp", "count"),
    [
        (nn.functional.hardtanh, 0),
        (lambda x: x.clamp(-0.5, 2), 0),
        (lambda x: x.clamp(0, -1), 0),
        (lambda x: x.clamp(min=0), 1),
        (lambda x: nn.functional.hardtanh(x, 0, 2), 1),
    ],
)
def test_clamps_elsewhere_than_at_zero(clamp: Callable[[Tensor], Tensor], count: int) -> None:
    torch.manual_seed(3)
    model = spread(nn.Sequential(nn.Conv2d(3, 8, 3), Function(clamp), nn.Conv2d(8, 4, 1))).eval()
    observed = observed_graph(model, IMAGES[0])
    assert equalize(observed, IMAGES) == count
    assert_results_stay(observed, model, IMAGES, 1e-4, 1e-5)


def test_weights_that_are_read_twice_stay() -> None:
    torch.manual_seed(0)
    relu, again = nn.ReLU(), nn.Linear(6, 6)
    model = nn.Sequential(nn.Linear(6, 6), relu, again, relu, again, relu, nn.Linear(6, 4))
    names = names_of(observed_graph(model, (torch.randn(3, 6),)))
    assert not any(name.startswith(("2.", "4.")) for name in names)


def test_values_that_are_infinite_stay_as_they_are() -> None:
    observed = observed_graph(residual(), IMAGES[0])
    before = {name: value.clone() for name, value in observed.named_parameters()}
    assert equalize(observed, [(torch.full((2, 3, 12, 12), math.inf),)]) == 0
    assert all(torch.equal(value, before[name]) for name, value in observed.named_parameters())
