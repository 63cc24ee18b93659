"""Biases that are thousands of millions of steps of input times weight, as those of layers that saw next to nothing."""

from __future__ import annotations

import sys

import pytest
import torch
from quantizer.signal_to_noise import quality
from reference.modules import Calling
from torch import Tensor, nn

import xir
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.walking import ops_in
from xir.quantizer import QuantConfig, WrongQuantizationError
from xir.runtime import Runtime

quantize = sys.modules["xir.quantizer.quantize"]
"""The module: the package has the function by that name."""


@pytest.mark.parametrize("size", [1.0, 1e-3, 5e-6, 1e-7, 0.0])
@pytest.mark.parametrize("is_linear", [True, False])
@pytest.mark.parametrize("has_room", [True, False])
def test_sums_do_not_wrap_around(has_room: bool, is_linear: bool, size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """XNNPACK's sums have 32 bits: the sign of such a bias turned. Weights have scales for them; what others quantise
    without stays in float."""
    if not has_room:
        monkeypatch.setattr(quantize, "make_room_for_biases", lambda *_: None)
    torch.manual_seed(0)
    model = nn.Linear(8, 4) if is_linear else nn.Conv2d(1, 2, 3, padding=1)
    x = torch.randn((3, 8) if is_linear else (1, 1, 5, 5)) * size
    program = xir.quantize(model.eval(), (x,), [x], QuantConfig(observer="minmax"))
    edge = xir.to_edge(program).to_backend(xir.XnnpackPartitioner(cpu="any"))
    (result,) = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute([x])
    wanted: Tensor = program.module()(x)
    step = float(wanted.abs().max()) / 100
    torch.testing.assert_close(torch.as_tensor(result), wanted, rtol=0, atol=step)
    weighted = list(ops_in(edge.module, xnnpack.FullyConnectedOp if is_linear else xnnpack.Conv2dOp))
    on_integers = [node for node in weighted if "quant" in str(element_type(node.input))]
    if has_room:
        assert on_integers
        torch.testing.assert_close(torch.as_tensor(result), model(x), rtol=0, atol=step)
    elif size in (1.0, 1e-7):
        assert bool(on_integers) == (size == 1.0)


FORMS = {
    "plain": lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16)),
    "a factor before it": lambda: Calling(lambda m, x: m.a(x * 0.25), a=nn.Linear(64, 16)),
    "transposed": lambda: Calling(
        lambda m, x: m.b(m.a(x.reshape(-1, 4, 4, 4))),
        a=nn.ConvTranspose2d(4, 4, 2, groups=2),
        b=nn.ConvTranspose2d(4, 2, 2),
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "config",
    [
        QuantConfig(effort="best"),
        QuantConfig(observer="minmax", per_channel=False),
        QuantConfig(observer="minmax", bias_correction=False),
        QuantConfig(qat=True),
    ],
)
def test_layers_that_see_next_to_nothing_keep_their_biases(form: str, config: QuantConfig) -> None:
    """They were cut off at 2³¹ steps: 16.8 dB for inputs of 1e-6, 8.7 dB for less.

    The ranges that training takes are moving averages, narrower than what `verify` lets pass.
    """
    for size in (1e-6, 1e-9, 1e-18):
        torch.manual_seed(0)
        model = FORMS[form]().eval()
        samples = [(size * torch.randn(4, 64),) for _ in range(5)]
        program = xir.quantize(model, samples[0], samples, config, verify=not config.qat)
        assert quality(model, program, samples) > (25 if config.qat else 35), size


def test_a_layer_that_sees_next_to_nothing_and_its_own_results_is_found_too_coarse() -> None:
    """One scale cannot serve both: as large as the bias needs it beside the tiny inputs, it is too large for others."""
    torch.manual_seed(0)
    model = Calling(lambda m, x: m.a(m.a(x)), a=nn.Linear(64, 64)).eval()
    samples = [(1e-8 * torch.randn(4, 64),) for _ in range(5)]
    with pytest.raises(WrongQuantizationError, match="times the scale that its largest number wants") as caught:
        xir.quantize(model, samples[0], samples, verify=True)
    kept = QuantConfig(keep_float=(caught.value.layer,))
    program = xir.quantize(model, samples[0], samples, kept, verify=True)
    assert quality(model, program, samples) > 35
