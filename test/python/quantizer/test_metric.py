"""A metric of the user's: what it is called with, what the report shows of it, and layers in float until it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.modules import Calling
from torch import Tensor, nn

import xir
from xir.ir.diagnostics import DiagnosticError
from xir.quantizer import QuantConfig, quantize_and_measure

r = torch.randn


INPUTS = [r(32, 16) for _ in range(4)]


@pytest.fixture(scope="module")
def model() -> nn.Module:
    """Five layers; one channel between the first two is so large that 8 bits leave nothing to the others."""
    torch.manual_seed(0)
    layers = [nn.Linear(16, 16) for _ in range(5)]
    with torch.no_grad():
        layers[0].weight[0] *= 1000
        layers[1].weight[:, 0] /= 1000
    return nn.Sequential(*layers).eval()


def agreement(model: nn.Module) -> Callable[[Callable[..., Tensor]], dict[str, float]]:
    """The share of rows whose largest number is where the model has it."""

    def top1(program: Callable[..., Tensor]) -> dict[str, float]:
        with torch.no_grad():
            same = [program(x).argmax(1) == model(x).argmax(1) for x in INPUTS]
        return {"top1": float(torch.cat(same).double().mean()), "other": 3}

    return top1


def test_the_report_shows_the_metric_of_both_programs(model: nn.Module) -> None:
    metric = agreement(model)
    config = QuantConfig(equalization=False)  # which would make up for the large channel
    program, report = quantize_and_measure(model, (INPUTS[0],), INPUTS, config, metric=metric)
    assert report.float_metric == {"top1": 1, "other": 3}
    assert report.metric == metric(program.module())
    assert report.metric["top1"] < 0.9
    assert f"top1: {report.metric['top1']:.6g} quantised, 1 in float\n" in report.text()


@pytest.mark.parametrize(
    "max_drop", [pytest.param(0.04, id="all", marks=pytest.mark.exhaustive), pytest.param({"top1": 0.04}, id="named")]
)
def test_layers_stay_in_float_until_the_metric_holds(model: nn.Module, max_drop: Any) -> None:
    metric = agreement(model)
    config = QuantConfig(max_drop=max_drop)
    program, report = quantize_and_measure(model, (INPUTS[0],), INPUTS, config, metric=metric)
    assert 0 < len(report.kept) < 5
    assert report.metric["top1"] >= 0.96
    assert metric(program.module())["top1"] == report.metric["top1"]
    assert metric(xir.quantize(model, (INPUTS[0],), INPUTS, config, metric=metric).module()) == report.metric


def test_a_drop_that_no_program_keeps_within_is_an_error(model: nn.Module) -> None:
    def exactness(program: Callable[..., Tensor]) -> float:
        with torch.no_grad():
            return -sum(float((program(x) - model(x)).abs().max()) for x in INPUTS)

    message = (
        r"a drop of 1e-09 of 'exactness' is out of reach: the best of \d attempts has -[\d.e-]+ for -?[\d.e-]+, with"
    )
    with pytest.raises(DiagnosticError, match=message):
        xir.quantize(model, (INPUTS[0],), INPUTS, QuantConfig(max_drop=1e-9), metric=exactness)
    with pytest.raises(ValueError, match="max_drop bounds what a metric loses: give metric="):
        xir.quantize(model, (INPUTS[0],), INPUTS, QuantConfig(max_drop=1))


def test_a_goal_out_of_reach_tells_the_best_of_all_attempts() -> None:
    """More layers in float may be worse than fewer, and the last ones may leave nothing to quantise."""
    torch.manual_seed(1)
    layers: list[nn.Module] = []
    for _ in range(6):
        layers += [nn.Linear(16, 16), nn.Hardswish()]
    model = nn.Sequential(*layers).eval()
    with pytest.raises(DiagnosticError, match="out of reach") as error:
        xir.quantize(model, (INPUTS[0],), INPUTS, QuantConfig(min_sqnr=120))
    words = str(error.value).split()
    best = float(words[words.index("has") + 1])
    _, report = quantize_and_measure(model, (INPUTS[0],), INPUTS, QuantConfig(min_sqnr=best - 1))
    assert best - 1 <= report.output
    for name in ("linear", "linear_5"):
        alone = QuantConfig(keep_float=("linear_[1234]", name, "hardswish*"))
        assert quantize_and_measure(model, (INPUTS[0],), INPUTS, alone)[1].output <= best + 3


def counting(m: Any, x: Tensor) -> Tensor:
    """A buffer counts calls, which a metric is not to leave behind."""
    m.count.add_(1)
    return m.linear(x) + m.count * 0.01


def test_each_call_of_the_metric_finds_the_buffers_as_they_begin() -> None:
    torch.manual_seed(0)
    model = Calling(counting, linear=nn.Linear(16, 4), count=torch.zeros(())).eval()

    def last(program: Callable[..., Tensor]) -> float:
        return float([program(x) for x in INPUTS][-1].sum())

    program, report = quantize_and_measure(model, (INPUTS[0],), INPUTS, metric=last)
    with torch.no_grad():
        assert report.float_metric["last"] == pytest.approx(float((model.linear(INPUTS[-1]) + 0.04).sum()), rel=1e-5)
        assert last(program.module()) == pytest.approx(report.metric["last"], rel=1e-6)
    assert float(model.count) == 0


# Calibration inputs with labels


def largest(model: nn.Module, args: tuple[Tensor, ...], calibration: Any, **kwargs: Any) -> float:
    """The largest result that calibration has seen."""
    _, report = quantize_and_measure(model.eval(), args, calibration, **kwargs)
    assert report.inputs == len(calibration)
    return max(layer.high for layer in report.layers)


def test_what_only_labels_can_be_is_left_out() -> None:
    """Of data loaders: the last of a tuple or list, and what dicts call labels."""
    linear, labels = nn.Linear(16, 4).eval(), torch.arange(32)
    both = Calling(lambda m, x, y: m.linear(x + y), linear=nn.Linear(16, 4)).eval()
    plain = largest(linear, (INPUTS[0],), INPUTS)
    for pair in ([(x, labels) for x in INPUTS], [[x, labels] for x in INPUTS], [(x, {"box": labels}) for x in INPUTS],
                 [((x,), labels) for x in INPUTS], [(x, 5) for x in INPUTS]):  # fmt: skip
        assert largest(linear, (INPUTS[0],), pair) == plain
    rows = torch.utils.data.TensorDataset(torch.cat(INPUTS), torch.zeros(128))
    assert largest(linear, (INPUTS[0],), torch.utils.data.DataLoader(rows, 32)) == plain
    two = largest(both, (INPUTS[0], INPUTS[1]), [(x, x) for x in INPUTS])  # both are arguments
    for each in ([((x, x), labels) for x in INPUTS], [(x, x, labels) for x in INPUTS],
                 [({"x": x, "y": x}, labels) for x in INPUTS]):  # fmt: skip
        if isinstance(each[0][0], dict):
            kwargs = {"x": INPUTS[0], "y": INPUTS[1]}
            assert largest(both, (), each, kwargs=kwargs) == two
            assert largest(both, (), [{"x": x, "y": x, "labels": labels} for x in INPUTS], kwargs=kwargs) == two
        else:
            assert largest(both, (INPUTS[0], INPUTS[1]), each) == two


def test_a_label_that_may_be_an_argument_is_an_error() -> None:
    def forward(m: Any, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return m.linear(x if mask is None else x * mask)

    model = Calling(forward, linear=nn.Linear(16, 4)).eval()
    with pytest.raises(
        DiagnosticError, match=r"calibration input 0.*last value is a label or the model's 'mask', which"
    ):
        xir.quantize(model, (INPUTS[0],), [(x, x) for x in INPUTS])
    xir.quantize(model, (INPUTS[0], INPUTS[0]), [(x, x) for x in INPUTS])
    program = torch.export.export(model, (INPUTS[0],))  # takes no mask any more
    xir.quantize(program, (INPUTS[0],), [(x, x) for x in INPUTS])
    with pytest.raises(DiagnosticError, match=r"it is \(Tensor, mask=Tensor\); the model takes \(Tensor\)"):
        xir.quantize(model, (INPUTS[0],), [((x,), {"mask": x}) for x in INPUTS])
