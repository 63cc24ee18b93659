"""Weights rounded on what the layers before them make of the calibration inputs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import quality
from reference.modules import Calling
from torch import Tensor, nn
from torch.fx import Node

import xir
from xir.quantizer import QuantConfig, rounding_work

pytestmark = pytest.mark.filterwarnings("ignore")


class Kinds(nn.Module):
    """A convolution for images, one by channel, one in groups, one for sequences, and linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.deep = nn.Conv2d(16, 32, (3, 1), groups=16, dilation=2)
        self.groups = nn.Conv2d(32, 24, 2, groups=4)
        self.sequence = nn.Conv1d(24, 24, 5, padding=2)
        self.linear, self.head = nn.Linear(24, 48), nn.Linear(48, 8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.groups(torch.relu(self.deep(torch.relu(self.first(x))))))
        y = torch.relu(self.sequence(y.flatten(2)))
        return self.head(torch.relu(self.linear(y.transpose(1, 2))))


def _images(count: int, seed: int) -> list[tuple[Tensor]]:
    """Neighbouring numbers are alike, as in photographs: what makes errors of weights add up."""
    generator = torch.Generator().manual_seed(seed)
    small = torch.randn(count, 1, 3, 5, 5, generator=generator) + 1
    return [(nn.functional.interpolate(each, size=24, mode="bilinear"),) for each in small]


CALIBRATION, OTHERS = _images(16, 0), _images(16, 1)


@pytest.fixture(name="model", scope="module")
def fixture_model() -> nn.Module:
    torch.manual_seed(0)
    return Kinds().eval()


def weights(program: Any) -> list[Tensor]:
    """The integers of the layers' weights."""
    return [value for value in program.state_dict.values() if value.dtype == torch.int8] + [
        value for value in program.constants.values() if isinstance(value, Tensor) and value.dtype == torch.int8
    ]


def in_float(program: Any) -> Any:
    """The program with activations that are not rounded: what is left is the error of weights and biases."""
    graph = program.graph_module.graph
    for node in list(graph.nodes):
        source = node.args[0] if node.args else None
        is_back = str(node.target).startswith("quantized_decomposed.dequantize_per_tensor.")
        if is_back and isinstance(source, Node) and str(source.target).startswith("quantized_decomposed.quantize_"):
            node.replace_all_uses_with(source.args[0])
    graph.eliminate_dead_code()
    program.graph_module.recompile()
    return program


@pytest.fixture(scope="module")
def programs(model: nn.Module) -> dict[str, Any]:
    """The program of each effort."""
    return {
        effort: xir.quantize(model, CALIBRATION[0], CALIBRATION, QuantConfig(effort=effort))
        for effort in ("fast", "best")
    }


def test_integers_are_the_same_each_time_and_other_ones(model: nn.Module, programs: dict[str, Any]) -> None:
    """Also where the program is verified."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    again = xir.quantize(model, CALIBRATION[0], CALIBRATION, QuantConfig(effort="best"), verify=True)
    once = weights(programs["best"])
    assert len(once) == 6
    assert all(torch.equal(one, other) for one, other in zip(once, weights(again), strict=True))
    assert all(bool((one != other).any()) for one, other in zip(once, weights(programs["fast"]), strict=True))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_errors_of_weights_make_up_for_each_other_on_other_inputs(model: nn.Module, programs: dict[str, Any]) -> None:
    plain, best = (quality(model, in_float(deepcopy(programs[effort])), OTHERS) for effort in ("fast", "best"))
    assert best > plain + 3


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_a_model_with_state_is_rounded_to_the_nearest(mode: Any) -> None:
    def forward(m: Any, x: Tensor) -> Tensor:
        m.mean.mul_(0.5).add_(x.mean(0))
        return m.linear(x + m.mean)

    torch.manual_seed(0)
    model = Calling(forward, linear=nn.Linear(16, 8), mean=torch.zeros(16)).eval()
    inputs = [(torch.randn(4, 16),) for _ in range(4)]
    best, fast, nearest = (
        weights(xir.quantize(model, inputs[0], given, config))
        for config, given in (
            (QuantConfig(mode, effort="best"), inputs),
            (QuantConfig(mode), inputs),
            (QuantConfig(mode), None),
        )
    )
    assert all(torch.equal(one, other) for one, other in zip(best, nearest, strict=True))
    assert all(torch.equal(one, other) for one, other in zip(fast, nearest, strict=True))
    assert not bool(model.mean.any())


class Twice(nn.Module):
    """Layers for inputs that go together; a third reads the first one's weights again if they are `shared`."""

    def __init__(self, *, shared: bool, bias: bool) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(64, 64, bias=bias), nn.Linear(64, 16, bias=bias)
        self.middle = self.first if shared else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.tanh(self.middle(torch.tanh(self.first(x)))))


@pytest.mark.parametrize(("shared", "bias"), [(False, True), (True, True), (True, False)])
def test_calibration_inputs_round_dynamic_layers_for_their_outputs(shared: bool, bias: bool) -> None:
    """Errors of neighbouring weights make up for each other, on other inputs as well."""
    torch.manual_seed(1)
    model = Twice(shared=shared, bias=bias).eval()
    mixed = torch.randn(8, 64)
    seen, others = ([(torch.randn(64, 8) @ mixed,) for _ in range(8)] for _ in range(2))

    def found(calibration: list[tuple[Tensor]] | None) -> Any:
        return xir.quantize(model, seen[0], calibration, QuantConfig("dynamic"), verify=True)

    rounded, nearest = found(seen), found(None)
    assert all(bool((one != other).any()) for one, other in zip(weights(rounded), weights(nearest), strict=True))
    assert quality(model, rounded, others) > quality(model, nearest, others) + 1


def test_dynamic_layers_are_rounded_on_as_many_inputs_as_a_minute_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too much work leaves the nearest integers, but for `best`."""
    model = Twice(shared=False, bias=True).eval()
    rows = [(torch.randn(64, 64),) for _ in range(8)]
    graph = torch.export.export(model, rows[0]).module()
    layers = [node.name for node in graph.graph.nodes if "linear" in str(node.target)]
    once = 2 * 64**3 / 3 + (64 + 16) * 64**2 / 2
    sample = 64 * (2 * 64**2 + 2 * (64 + 16) * 64)
    for most, count in ((once + 3.9 * sample, 0), (once + 5.5 * sample, 5), (once + 99 * sample, 8)):
        monkeypatch.setattr(rounding_work, "MOST_WORK", most)
        assert rounding_work.affordable(graph, layers, rows) == count
        assert rounding_work.affordable(graph, layers, rows[:1]) == bool(once + sample < most)
    monkeypatch.setattr(rounding_work, "MOST_WORK", once)
    fast, best = (QuantConfig("dynamic", smoothing=False, effort=effort) for effort in ("fast", "best"))
    nearest = weights(xir.quantize(model, rows[0], None, fast))
    assert all(
        torch.equal(*each) for each in zip(nearest, weights(xir.quantize(model, rows[0], rows, fast)), strict=True)
    )
    assert not any(
        torch.equal(*each) for each in zip(nearest, weights(xir.quantize(model, rows[0], rows, best)), strict=True)
    )


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_vectors_without_a_batch(mode: Any) -> None:
    """Few of them say little of others, and weights stay near the nearest integers."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 16)).eval()
    seen, others = ([(torch.randn(64),) for _ in range(count)] for count in (2, 32))
    fast, best = (xir.quantize(model, seen[0], seen, QuantConfig(mode, effort=effort)) for effort in ("fast", "best"))
    nearest = xir.quantize(model, seen[0], None, QuantConfig(mode))
    for program in (fast, best):
        assert quality(model, program, others) > quality(model, nearest, others) - 1


@pytest.mark.parametrize("mode", ["static", "dynamic", "int4"])
@pytest.mark.parametrize("value", [0.0, 3.0, 1e-18, 1e18])
def test_inputs_that_say_nothing(mode: Any, value: float) -> None:
    """All the same, or so large or small that their moments are none: such calibration is no error."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16)).eval()
    factors = torch.ones(4, 64) if value in (0, 3) else torch.randn(4, 64)
    samples = [(value * factors,) for _ in range(5)]
    program = xir.quantize(model, samples[0], samples, QuantConfig(mode, effort="best"))
    assert quality(model, program, samples) > 20


def test_a_weight_that_something_else_reads_stays() -> None:
    """It is rounded to the nearest for the layers."""
    torch.manual_seed(0)
    model = Calling(lambda m, x: m.first(m.first(x)) * m.first.weight[0], first=nn.Linear(8, 8)).eval()
    rows = [(torch.randn(32, 8),) for _ in range(4)]
    one, other = (weights(xir.quantize(model, rows[0], given, QuantConfig("dynamic"))) for given in (rows, None))
    assert all(torch.equal(*each) for each in zip(one, other, strict=True))


def test_what_effort_is() -> None:
    with pytest.raises(ValueError, match="effort is 'fast' or 'best', not 'better'"):
        QuantConfig(effort="better")  # pyright: ignore[reportArgumentType]
