"""Biases that are thousands of millions of steps of input times weight, as those of layers that saw next to nothing."""

from __future__ import annotations

import sys

import pytest
import torch
from quantizer.signal_to_noise import quality
from torch import Tensor, nn

import xir
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.walking import ops_in
from xir.quantizer import QuantConfig
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


@pytest.mark.parametrize("config", [QuantConfig(effort="best"), QuantConfig(observer="minmax", per_channel=False)])
@pytest.mark.parametrize("size", [1e-6, 1e-9, 1e-18])
def test_layers_that_see_next_to_nothing_keep_their_biases(config: QuantConfig, size: float) -> None:
    """They were cut off at 2³¹ steps: 16.8 dB for 1e-6, 8.7 dB for less."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Conv1d(1, 3, 5)).eval()
    samples = [(size * torch.randn(4, 1, 64),) for _ in range(5)]
    program = xir.quantize(model, samples[0], samples, config, verify=True)
    assert quality(model, program, samples) > 35
