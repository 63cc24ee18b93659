"""Which layers stay in float: those that cost the outputs most for each microsecond that they save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from reference.modules import Calling
from torch import Tensor, nn

from xir.quantizer import QuantConfig, XnnpackQuantizer, quantize_and_measure
from xir.quantizer.choice import counts, estimate, ranked, ratio
from xir.quantizer.quantize import converted, prepared, rounded
from xir.quantizer.times import LayerTimes, predict, profile_of

r = torch.randn


def forward(m: Any, x: Tensor) -> Tensor:
    """A large convolution, a cheap one whose range is spoilt, residual sums, a pooling, and a linear head."""
    y = m.stem(x)
    y = y + m.narrow(m.wide(y))
    y = y + m.depthwise(y)
    return m.head(nn.functional.max_pool2d(y, 2).mean((2, 3)))


def network() -> nn.Module:
    torch.manual_seed(5)
    return Calling(
        forward,
        stem=nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU6()),
        wide=nn.Sequential(nn.Conv2d(32, 96, 3, padding=1), nn.ReLU()),
        narrow=nn.Conv2d(96, 32, 1),
        depthwise=nn.Conv2d(32, 32, 3, padding=1, groups=32),
        head=nn.Linear(32, 16),
    ).eval()


IMAGES = [(r(1, 3, 48, 48),) for _ in range(3)]


class Made:
    """The network, and what it takes with some of its layers in float."""

    def __init__(self) -> None:
        self.program = torch.export.export(network(), IMAGES[0])
        self.quantizer, self.profile = XnnpackQuantizer(), profile_of("zen3")
        calibrated = prepared(self.program, self.quantizer, IMAGES)
        floats, graph = calibrated.floats, rounded(calibrated)
        self.layers = dict(self.quantizer.layers)
        integer = predict(converted(self.program, graph, (IMAGES[0], {})), self.profile)
        self.times = LayerTimes(floats, self.layers, integer, predict(self.program, self.profile), self.profile)

    def microseconds(self, kept: Sequence[str]) -> float:
        """What the lowered program is predicted to take."""
        graph = rounded(prepared(self.program, self.quantizer.keep(kept), IMAGES))
        return predict(converted(self.program, graph, (IMAGES[0], {})), self.profile).total


@pytest.fixture(scope="module")
def made() -> Made:
    return Made()


@pytest.mark.parametrize(
    "kept",
    [
        (),
        ("conv2d_1", "conv2d_2"),
        ("conv2d", "add", "conv2d_2"),
        *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (("conv2d_1",), ("add",), ("linear", "mean"))),
    ],
)
def test_the_added_time_is_that_of_the_lowered_program(made: Made, kept: tuple[str, ...]) -> None:
    times, actual = made.times, made.microseconds(kept)
    assert times.integer + times.added(kept) == pytest.approx(actual, rel=0.05)
    one_by_one = sum(times.one_more(name, kept[:index]) for index, name in enumerate(kept))
    assert one_by_one == pytest.approx(times.added(kept))


def test_next_to_a_layer_in_float_another_one_costs_less(made: Made) -> None:
    assert made.times.one_more("conv2d_2", {"conv2d_1"}) < made.times.one_more("conv2d_2", ())
    assert "conv2d_2" in made.times.beside("conv2d_1")
    assert "linear" not in made.times.beside("conv2d_1")


def test_noise_is_weighed_against_time(made: Made) -> None:
    """The large convolution has somewhat more noise, and costs many times as much as the sum."""
    noises = dict.fromkeys(made.layers, 1e-6) | {"conv2d_1": 2e-3, "add": 1e-3}
    assert ranked(noises, None)[:2] == ["conv2d_1", "add"]
    order = ranked(noises, made.times)
    assert order.index("add") < order.index("conv2d_1")
    assert sorted(order) == sorted(made.layers)
    for count in counts(order, made.times):
        assert made.times.added(order[:count]) <= 0.4 * made.times.integer
    assert ratio(noises, ["conv2d_1"]) == pytest.approx(4.76, abs=0.03)


def test_how_many_layers_are_guessed_from_their_noises() -> None:
    assert [estimate([0.5, 0.4, 0.09, 0.01], each) for each in (2.9, 3.1, 9.9, 12, 100)] == [1, 2, 2, 3, 4]


@torch.no_grad()
def test_the_report_has_the_curve_and_what_float_costs() -> None:
    model = network()
    _, before = quantize_and_measure(model, IMAGES[0], IMAGES, QuantConfig(cpu="zen3"))
    program, report = quantize_and_measure(
        model, IMAGES[0], IMAGES, QuantConfig(min_sqnr=before.output + 2, cpu="zen3")
    )
    assert report.output >= before.output + 2
    for each in (before, report):
        kept = [point.kept for point in each.curve]
        assert [len(names) for names in kept] == sorted(len(names) for names in kept)
        assert kept[0] == ()
        assert {layer.name for layer in before.layers} == set(kept[-1])
        assert each.kept in kept
        assert each.processor == profile_of("zen3").processor
        assert all(layer.in_float is not None for layer in each.layers)
    (chosen,) = (point for point in report.curve if point.kept == report.kept)
    assert chosen.measured
    assert chosen.output == pytest.approx(report.output, abs=1e-3)
    assert report.curve[-1].microseconds == predict(torch.export.export(model, IMAGES[0]), profile_of("zen3")).total
    assert list(report.costs) == list(report.kept)
    lowered = predict(program, profile_of("zen3")).total
    assert chosen.microseconds == pytest.approx(lowered, rel=0.05)
    assert f"{report.kept[0]} in float costs " in report.text()
    assert "measured, chosen" in report.text()
    assert not all(point.measured for point in before.curve)
    assert "estimated" in before.text()
