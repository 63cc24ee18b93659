"""Numbers that a program reads of tensors and computes with: arithmetic of tensors in a delegate, eager's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
import torch
from reference.modules import Function
from reference.runtimes import agree
from torch import Tensor

from bench.encoders import kernel_calls
from xir.api import XnnpackPartitioner, to_edge
from xir.runtime import Runtime

COMPUTED: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "product": lambda x, s: x * s.item(),
    "sum": lambda x, s: torch.add(x, s.item(), alpha=3),
    "difference": lambda x, s: x - s.item(),
    "difference to it": lambda x, s: s.item() - x,
    "quotient": lambda x, s: x / s.item(),
    "of a computed number": lambda x, s: x.relu() * (s.exp() * 2 + 1).item(),
    "of one element of three dimensions": lambda x, s: x * s.view(1, 1, 1).item(),
    "filled": lambda x, s: torch.full((3, 4), s.item(), dtype=x.dtype) + x,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_items(dtype: torch.dtype) -> None:
    unit = torch.finfo(dtype).eps
    model = Function(lambda x, s: [function(x, s) for function in COMPUTED.values()])
    inputs = torch.randn(3, 4, dtype=dtype), torch.tensor(1.5, dtype=dtype)
    program = to_edge(torch.export.export(model, inputs)).to_backend(XnnpackPartitioner()).to_executorch()
    file = program.buffer
    assert Runtime.get().load_program(file).load_method().metadata.num_delegates == 1
    assert kernel_calls(program) == []
    calls = [(torch.randn(3, 4).to(dtype), torch.tensor(number, dtype=dtype)) for number in (1.5, -0.37, 3.0)]
    agree(file, model, calls, rtol=4 * unit, atol=4 * unit)
