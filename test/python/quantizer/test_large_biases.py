"""Biases that are thousands of millions of steps of input times weight, as those of layers that saw next to nothing."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import xir
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.walking import ops_in
from xir.quantizer import QuantConfig
from xir.runtime import Runtime


@pytest.mark.parametrize("size", [1.0, 1e-3, 5e-6, 1e-7, 0.0])
@pytest.mark.parametrize("is_linear", [True, False])
def test_sums_do_not_wrap_around(is_linear: bool, size: float) -> None:
    """XNNPACK's sums have 32 bits: the sign of such a bias turned."""
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
    if size in (1.0, 1e-7):
        assert bool(on_integers) == (size == 1.0)
