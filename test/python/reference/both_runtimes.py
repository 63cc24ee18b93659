"""Lowering a function of tensors, and holding the file to eager in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from reference.runtimes import agree
from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.dialects.delegate import GraphOp

Inputs = Tensor | tuple[Tensor, ...]


class Program(nn.Module):
    """A function of a tensor, and the constants that it takes behind it."""

    def __init__(self, function: Callable[..., Any], *constants: Tensor) -> None:
        super().__init__()
        self.function, self.count = function, len(constants)
        for index, value in enumerate(constants):
            self.register_buffer(f"constant{index}", value)

    def forward(self, x: Tensor) -> Any:
        return self.function(x, *(getattr(self, f"constant{index}") for index in range(self.count)))


def arguments(x: Inputs) -> tuple[Tensor, ...]:
    return x if isinstance(x, tuple) else (x,)


def lower(model: nn.Module, x: Inputs, dynamic_shapes: Any = None) -> EdgeProgram:
    with torch.no_grad():
        program = torch.export.export(model.eval(), arguments(x), dynamic_shapes=dynamic_shapes)
    return to_edge(program).to_backend(XnnpackPartitioner())


def delegates(lowered: EdgeProgram) -> int:
    """How many delegates a program has."""
    return sum(isinstance(op, GraphOp) for op in lowered.module.walk())


def check(model: nn.Module, lowered: EdgeProgram, inputs: Sequence[Inputs], outside: Sequence[str] = ()) -> None:
    """Right in both runtimes, in delegates but for kernels of the names `outside`."""
    edges = [op.name for op in lowered.module.walk() if op.name.startswith("edge.")]
    assert [name for name in edges if name != "edge.constant"] == list(outside)
    assert delegates(lowered) > 0
    # Sums of hundreds of products, in another order than PyTorch's.
    calls = [arguments(x) for x in inputs]
    agree(lowered.to_executorch().buffer, model, calls, atol=0, of_largest=5e-6)


def holds(model: nn.Module, inputs: Sequence[Inputs], shapes: Any = None, outside: Sequence[str] = ()) -> None:
    """One delegate, and kernels of the names `outside`, right for all inputs; the first are those of the export."""
    lowered = lower(model.requires_grad_(False), inputs[0], shapes)
    assert delegates(lowered) == 1
    check(model, lowered, inputs, outside)
