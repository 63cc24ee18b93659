"""What a function of tensors gives as a file, delegated or by kernels alone, beside what eager gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from xir.api import XnnpackPartitioner, to_edge
from xir.runtime import Runtime

DELEGATED = {"delegated": True, "kernels": False}


class _Program(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


def outputs(model: nn.Module, inputs: Sequence[Tensor], *, delegated: bool) -> list[Tensor]:
    """What xir's runtime gives for a model."""
    with torch.no_grad():
        program = to_edge(torch.export.export(model.eval(), tuple(inputs)))
    if delegated:
        program = program.to_backend(XnnpackPartitioner())
    method = Runtime.get().load_program(program.to_executorch().buffer).load_method("forward")
    return [torch.as_tensor(each) for each in method.execute(list(inputs))]


def problem(actual: Tensor, wanted: Tensor, units: float = 0) -> str | None:
    """How a result differs from eager's, by more than `units` in the last place; NaNs are equal."""
    if (actual.dtype, actual.shape) != (wanted.dtype, wanted.shape):
        return f"{actual.dtype}{list(actual.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if not wanted.is_floating_point():
        return None if torch.equal(actual, wanted) else f"{actual.tolist()} instead of {wanted.tolist()}"
    numbers, expected, of = actual.double(), wanted.double(), torch.finfo(wanted.dtype)
    same = (numbers == expected) | (numbers.isnan() & expected.isnan())
    near = (numbers - expected).abs() <= units * of.eps * expected.abs().clamp(min=of.tiny)
    if bool((same | near).all()):
        return None
    return f"{numbers[~(same | near)].tolist()} instead of {expected[~(same | near)].tolist()}"


def check(
    function: Callable[..., Any] | nn.Module,
    *inputs: Tensor,
    delegated: bool,
    units: float = 0,
    names: Sequence[str] = (),
) -> None:
    """Each output of a function is eager's, to so many units in the last place. `names` are those of the outputs."""
    model = function if isinstance(function, nn.Module) else _Program(function)
    with torch.no_grad():
        expected = [torch.as_tensor(each) for each in tree_leaves(model(*inputs))]
    results = outputs(model, inputs, delegated=delegated)
    problems = [problem(actual, wanted, units) for actual, wanted in zip(results, expected, strict=True)]
    assert not any(problems), "\n".join(
        f"{names[index] if names else index}: {text}" for index, text in enumerate(problems) if text
    )
