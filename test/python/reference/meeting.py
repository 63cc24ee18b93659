"""What a function of tensors gives as files, delegated and by kernels alone, beside what eager gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves

from reference.modules import Function
from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.runtime import Runtime


def forms(program: ExportedProgram, max_size: int | None = None) -> dict[str, EdgeProgram]:
    """A program as delegates where there can be some, and as kernels alone; open sizes end at `max_size`."""
    edge = to_edge(program, max_size=max_size)
    return {"delegated": edge.to_backend(XnnpackPartitioner()), "kernels": edge}


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
    units: float = 0,
    names: Sequence[str] = (),
    opened: Sequence[int] = (),
) -> None:
    """Each output of a function is eager's, delegated and by kernels, to so many units in the last place.

    `names` are those of the outputs, `opened` dimensions of the one input whose sizes are open.
    """
    model = function if isinstance(function, nn.Module) else Function(function)
    with torch.no_grad():
        expected = [torch.as_tensor(each) for each in tree_leaves(model(*inputs))]
        shapes = ((dict.fromkeys(opened, torch.export.Dim.AUTO),),) if opened else None
        exported = torch.export.export(model.eval(), inputs, dynamic_shapes=shapes)
    problems = list[str]()
    for form, program in forms(exported, max_size=9 if opened else None).items():
        method = Runtime.get().load_program(program.to_executorch().buffer).load_method("forward")
        results = map(torch.as_tensor, method.execute(list(inputs)))
        for index, (actual, wanted) in enumerate(zip(results, expected, strict=True)):
            if text := problem(actual, wanted, units):
                problems.append(f"{form}, {names[index] if names else index}: {text}")
    assert not problems, "\n".join(problems)
