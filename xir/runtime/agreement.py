"""How far the outputs of a `.pte` file are from PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram


@dataclass(frozen=True)
class Agreement:
    """Of the output that is farthest from PyTorch's: a good one does not make up for a bad one."""

    difference: float
    """The largest one, relative to the largest magnitude of PyTorch's output; NaN where one of both has NaN alone."""
    sqnr: float
    """The signal-to-noise ratio in dB; infinite where there is no difference."""
    where: str = "outputs"
    """Which output it is, if there are several: `output 1`."""

    def __str__(self) -> str:
        if self.difference == 0:
            return "outputs are PyTorch's exactly"
        return f"{self.where} within {self.difference:.1e} of PyTorch's largest magnitude, SQNR {self.sqnr:.1f} dB"


def agreement(path: Path, program: ExportedProgram, data: Sequence[Path] = ()) -> Agreement:
    """Run a file in xir's runtime on a program's example inputs, and the program in PyTorch.

    `data` are the `.ptd` files with weights that the file lacks.
    ValueError if the program was saved without example inputs. XirRuntimeError if the file does not run.
    """
    from xir.runtime import Runtime

    values = inputs_of(program)
    expected = example_outputs(program)
    method = Runtime.get().load_program(path, data=data).load_method()
    actual = method.execute(values)
    return compared(*([number_array(value) for value in values if value is not None] for values in (actual, expected)))


def agreement_in_torch(program: ExportedProgram, exact: ExportedProgram) -> Agreement:
    """Run two programs in PyTorch on the example inputs of the second, which it has."""
    import torch
    from torch.utils._pytree import tree_leaves

    assert exact.example_inputs is not None
    args, kwargs = exact.example_inputs
    with torch.no_grad():
        actual, expected = (tree_leaves(each.module()(*args, **kwargs)) for each in (program, exact))
    return compared(*([number_array(value) for value in values if value is not None] for values in (actual, expected)))


def example_values(program: ExportedProgram) -> list[Any] | None:
    """The example inputs as `execute` takes them. None if there are none."""
    from torch.utils._pytree import tree_leaves

    return None if program.example_inputs is None else tree_leaves(program.example_inputs)


def inputs_of(program: ExportedProgram) -> list[Any]:
    """The example inputs as `execute` takes them. ValueError if there are none."""
    values = example_values(program)
    if values is None:
        raise ValueError("the program was saved without example inputs: export it again")
    return values


def example_outputs(program: ExportedProgram) -> list[Any]:
    """What PyTorch computes of the example inputs, which there are."""
    import torch
    from torch.utils._pytree import tree_leaves

    assert program.example_inputs is not None
    args, kwargs = program.example_inputs
    with torch.no_grad():
        return tree_leaves(program.module()(*args, **kwargs))


def plain_array(value: Any) -> np.ndarray:
    """A tensor as NumPy has it, in C order; bfloat16, which it has not, as the integers of its bits."""
    import torch

    tensor = torch.as_tensor(value).detach().contiguous()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def tensor_of(dtype: str, shape: Sequence[int], data: bytes) -> torch.Tensor:
    """A tensor of its elements' bytes in C order. `dtype` is torch's name of a type."""
    import torch

    if not data:
        return torch.empty(shape, dtype=getattr(torch, dtype))
    return torch.frombuffer(bytearray(data), dtype=getattr(torch, dtype)).reshape(tuple(shape))


def number_array(value: Any) -> np.ndarray:
    """A tensor or number in fp64."""
    import torch

    return torch.as_tensor(value).detach().double().numpy()


def compared(actual: list[np.ndarray], expected: list[np.ndarray]) -> Agreement:
    """How far arrays are from those expected; infinities and NaN in the same places agree."""
    found = [_compared(got, want) for got, want in zip(actual, expected, strict=True)]
    if not found:
        return Agreement(0.0, math.inf)
    # NaN is the worst of all.
    index = min(range(len(found)), key=lambda i: (not math.isnan(found[i][0]), found[i][1], -found[i][0]))
    return Agreement(*found[index], f"output {index}" if len(found) > 1 else "outputs")


def _compared(got: np.ndarray, want: np.ndarray) -> tuple[float, float]:
    """The largest difference and the ratio in dB of one output; one of another shape is wrong throughout."""
    if got.shape != want.shape:
        return math.nan, -math.inf
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, got - want)
    finite = want[np.isfinite(want)]
    scale = float(np.abs(finite).max(initial=0.0)) or 1.0
    largest = float(np.abs(difference).max() / scale) if difference.size else 0.0
    noise = float(np.square(difference).sum())
    if noise == 0:
        return largest, math.inf
    ratio = float(np.square(finite).sum()) / noise
    return largest, 10 * math.log10(ratio) if ratio > 0 else -math.inf
