"""Weights and biases that take back what rounding operands adds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import quality
from reference.modules import Calling
from torch import Tensor, nn

import xir
from xir.quantizer import QuantConfig, bias_correction, calibration, observers, operand_noise

pytestmark = pytest.mark.filterwarnings("ignore")


def characters(rows: int, *, bias: bool = True) -> nn.Module:
    """A convolution over rows of a table, as in models of text by character. One channel decides the scale of all."""
    torch.manual_seed(0)
    table, convolution = nn.Embedding(rows, 16), nn.Conv1d(16, 24, 3, padding=1, bias=bias)
    table.weight.data[:, 0] *= 8
    convolution.weight.data[:, 0] /= 8
    return Calling(over_channels, vectors=table, convolution=convolution).eval()


def over_channels(m: Any, x: Tensor) -> Tensor:
    return m.convolution(m.vectors(x).transpose(1, 2))


def _texts(rows: int, count: int, seed: int) -> list[tuple[Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    return [(torch.randint(rows, (2, 48), generator=generator),) for _ in range(count)]


def quantized(model: nn.Module, inputs: list[tuple[Tensor]], **options: Any) -> Any:
    return xir.quantize(model, inputs[0], inputs, QuantConfig(**options))


def integers(program: Any) -> list[Tensor]:
    """Those of the weights."""
    found = [*program.state_dict.values(), *program.constants.values()]
    return [each for each in found if isinstance(each, Tensor) and each.dtype == torch.int8]


def same_integers(left: Any, right: Any) -> bool:
    return all(torch.equal(*each) for each in zip(integers(left), integers(right), strict=True))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("effort", ["fast", "best"])
def test_rows_of_a_table_have_the_same_errors_each_time(
    effort: str, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, seen, others = characters(12, bias=bias), _texts(12, 16, 1), _texts(12, 16, 2)
    found = quality(model, quantized(model, seen, effort=effort), others)
    monkeypatch.setattr(operand_noise, "LEAST_GAIN", 0.0)
    without = quality(model, quantized(model, seen, effort=effort), others)
    assert found > without + 2.5


def test_rows_that_calibration_has_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen, others = characters(4096), _texts(4096, 4, 1), _texts(4096, 16, 2)
    found = quality(model, quantized(model, seen), others)
    monkeypatch.setattr(operand_noise, "LEAST_GAIN", 0.0)
    assert found > quality(model, quantized(model, seen), others) - 0.1


def test_weights_stay_where_errors_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    parts = {"vectors": nn.Linear(16, 16), "convolution": nn.Conv1d(16, 24, 3, padding=1)}
    model, generator = Calling(over_channels, **parts).eval(), torch.Generator().manual_seed(1)
    seen = [(torch.randn(2, 48, 16, generator=generator),) for _ in range(8)]
    found = quantized(model, seen)
    monkeypatch.setattr(operand_noise, "LEAST_GAIN", 0.0)
    assert same_integers(found, quantized(model, seen))


def test_one_sample_changes_no_weights() -> None:
    model, texts = characters(24), _texts(24, 1, 1)
    assert same_integers(quantized(model, texts), quantized(model, texts, bias_correction=False))
    assert not same_integers(quantized(model, texts * 2), quantized(model, texts * 2, bias_correction=False))


def half_constant(m: Any, x: Tensor) -> Tensor:
    """Half of the channels are constant: rounding them has one error."""
    return m.layer(torch.cat([x, torch.linspace(-0.991, 0.937, 8).expand_as(x)], -1))


def test_biases_take_back_the_mean_of_rounding_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model, generator = Calling(half_constant, layer=nn.Linear(16, 8)).eval(), torch.Generator().manual_seed(1)
    seen, others = ([(torch.randn(64, 8, generator=generator),) for _ in range(8)] for _ in range(2))

    def mean_error() -> float:
        program = quantized(model, seen).module()
        with torch.no_grad():
            return float(torch.cat([program(*each) - model(*each) for each in others]).mean(0).abs().mean())

    found = mean_error()
    monkeypatch.setattr(bias_correction.OperandMeans, "take_back", lambda *_: None)  # pyright: ignore
    assert found < mean_error() / 4


def test_biases_do_not_take_back_what_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare outliers of one channel are beyond the ranges; the usual vectors have none."""
    torch.manual_seed(0)
    model, generator = nn.Linear(16, 8).eval(), torch.Generator().manual_seed(1)
    values = torch.randn(16, 64, 16, generator=generator)
    usual = [(each,) for each in torch.randn(16, 64, 16, generator=generator)]
    values[:, ::32, 0] = 40
    inputs = [(each,) for each in values]

    def cut(calling: Any, _: Any) -> None:
        for each in calling.modules():
            if isinstance(each, observers.OutputRange):
                each.found = each._calculate_qparams(torch.tensor(-6.0), torch.tensor(6.0))  # pyright: ignore

    monkeypatch.setattr(calibration, "choose_ranges", cut)
    found = quality(model, quantized(model, inputs), usual)
    assert found > quality(model, quantized(model, inputs, bias_correction=False), usual) - 0.1
