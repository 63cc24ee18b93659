"""Whether a quantised graph is told from a wrong one, and a right one from neither. `make planted` plants more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import xir
from xir.quantizer import QuantConfig, WrongQuantizationError, bias_correction, observers, rewriting, rounding, specs


class Network(nn.Module):
    """Layers with weights, a sum, values that share a range, and a buffer that is written to."""

    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.deep, self.head = nn.Conv2d(8, 8, 3, groups=8), nn.Linear(16, 64)
        self.out = nn.Linear(64, 5)
        self.register_buffer("count", torch.zeros(8, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu_(self.norm(self.stem(x)))
        self.count.add_(x.mean())
        y = self.deep(x + self.count)
        y = torch.cat([y, y.flip(1)], 1).mean((2, 3))
        return self.out(nn.functional.silu(self.head(y)))


BATCHES = [(factor * torch.randn(2, 3, 9, 8, generator=torch.Generator().manual_seed(1)),) for factor in (2.0, 1.0)]


@pytest.fixture(name="network")
def fixture_network() -> nn.Module:
    torch.manual_seed(0)
    return Network().eval()


@pytest.mark.parametrize(
    "config",
    [
        QuantConfig(),
        QuantConfig(effort="best"),
        QuantConfig(observer="minmax", per_channel=False),
        QuantConfig("dynamic"),
    ],
)
def test_right_programs_pass(network: nn.Module, config: QuantConfig) -> None:
    before = network.get_buffer("count").clone()
    assert xir.quantize(network, BATCHES[0], BATCHES, config, verify=True)
    assert torch.equal(network.get_buffer("count"), before)


def test_four_bits_pass() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 6)).eval()
    assert xir.quantize(network, (torch.randn(3, 64),), config=QuantConfig("int4"), verify=True)


def zero_point_off_by_one(patch: pytest.MonkeyPatch) -> None:
    right = observers.Range.calculate_qparams

    def off(self: Any) -> tuple[Tensor, Tensor]:
        scale, zero_point = right(self)
        return scale, (zero_point + 1).clamp(max=127)

    patch.setattr(observers.Range, "calculate_qparams", off)


def scale_of_a_bias(patch: pytest.MonkeyPatch) -> None:
    right = specs.DerivedQuantizationSpec

    def doubled(sources: Any, derive: Any, *rest: Any) -> Any:
        def twice(found: list[Any]) -> tuple[Tensor, Tensor]:
            scales, zero_points = derive(found)
            return 2 * scales, zero_points

        return right(sources, twice, *rest)

    patch.setattr(specs, "DerivedQuantizationSpec", doubled)


def bias_not_corrected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bias_correction.OperandMeans, "correct_biases", lambda self: None)  # pyright: ignore


def batch_that_observers_do_not_see(patch: pytest.MonkeyPatch) -> None:
    right, seen = observers.Range.forward, set[Any]()

    def skipping(self: Any, value: Tensor) -> Tensor:
        is_first = self not in seen
        seen.add(self)
        return right(self, value / 4 if is_first else value)

    patch.setattr(observers.Range, "forward", skipping)


def rewritten_float_graph(patch: pytest.MonkeyPatch) -> None:
    wrong: Any = lambda node, _: (lambda x: torch.ops.aten.sigmoid(x), [node.args[0]])  # noqa: E731
    patch.setitem(rewriting._REWRITES, torch.ops.aten.silu.default, wrong)  # pyright: ignore[reportPrivateUsage]


def operand_errors_taken_back_three_times(patch: pytest.MonkeyPatch) -> None:
    right = bias_correction.OperandMeans.take_back

    def more(self: Any, *arguments: Any) -> None:
        for _ in range(3):
            right(self, *arguments)

    patch.setattr(bias_correction.OperandMeans, "take_back", more)


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (operand_errors_taken_back_three_times, "times the error that the nearest integers make"),
        (zero_point_off_by_one, "steps beyond its values"),
        (scale_of_a_bias, "its bias has 2 times the scale"),
        (bias_not_corrected, "takes back what rounding its weights adds"),
        (batch_that_observers_do_not_see, "the observer of "),
        (rewritten_float_graph, "preparing the float model"),
    ],
)
def test_what_is_wrong_is_told(plant: Any, said: str, network: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(WrongQuantizationError) as error:
        # Ranges of histograms, which take most of the time, are found the same way.
        xir.quantize(network, BATCHES[0], BATCHES, QuantConfig(observer="minmax", effort="best"), verify=True)
    assert "test_verification.py" in str(error.value)
    assert said in str(error.value)
    assert error.value.layer.startswith("conv2d") or plant is not scale_of_a_bias


def test_weights_rounded_worse_than_to_the_nearest_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the sign of what errors hand on; a network with state would not be rounded so."""
    right = rounding.Feedback.of

    def negative(moments: Tensor) -> Any:
        found = right(moments)
        return replace(found, shares=-found.shares)

    monkeypatch.setattr(rounding.Feedback, "of", negative)
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 8)).eval()
    rows = [(torch.randn(16, 8, generator=generator) @ torch.randn(8, 64, generator=generator),) for _ in range(8)]
    with pytest.raises(WrongQuantizationError, match=r"'linear'.*times the error that the nearest integers make"):
        xir.quantize(network, rows[0], rows, QuantConfig(effort="best"), verify=True)
