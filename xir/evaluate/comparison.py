"""How far what a program computes now is from what it computed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, ModuleOp, TensorType
from xdsl.ir import Attribute

from xir.dialects.quant import UniformType
from xir.dialects.xnnpack import DynamicType

ROUNDING: dict[type[Attribute], float] = {BFloat16Type: 2.0**-8, Float16Type: 2.0**-11, Float32Type: 2.0**-24}
"""Half the relative distance of neighbours, of each type that constants are computed in."""

SAME = 1e-9
"""What fp64 leaves of the same numbers, added up in another order."""

SAMPLES = 4
"""How often the roundings of a program are drawn at random, to see how far they move its outputs."""

AMPLIFIED = 8
"""How many times as far as the furthest of these a pass may move the outputs that computes constants anew.

It draws from the same distribution, of all roundings some. Where the elements of an output move as one, normally
distributed, it is further away with a probability of 3·(2 / (√(2π) · 8))^4 = 3e-4 even if it makes all roundings anew,
2e-5 if they are half their size; where they do not move as one, with far less."""

MOST_MOVED = 0.1
"""What outputs are moved further by roundings than this shows little of a pass: a warning says so."""

FLIPPED = 1e-2
"""How many integers or truth values may differ where numbers were rounded: those of a comparison of equals."""

COPIED = 1e-12
"""How far a number may be that was only written to memory, in fp64 and in its own type."""

REPEATED = 1e-3
"""How far two runs of the same kernels may be apart, in the order of their additions; a margin."""

FUSED = 2e-2
"""The same of quantised kernels, as the quadratic mean; a margin. XNNPACK makes one table of a chain of nodes whose
values are no outputs, and rounds once where it would several times: a step in a layer, which is many behind it."""


@dataclass(frozen=True)
class Difference:
    """The largest one between two runs of a function."""

    output: int
    error: float
    """Relative to the output's largest magnitude; infinite where a number became none, or the other way around."""
    index: tuple[int, ...]
    before: float
    after: float
    counted: bool
    """Whether the error is the part of integers or truth values that differ."""


def rounding_of(module: ModuleOp) -> float:
    """A rounding of the coarsest type of a module's numbers, fp32's at least."""
    return max((ROUNDING.get(type(each), 0.0) for each in element_types(module)), default=0.0) or ROUNDING[Float32Type]


def is_quantized(module: ModuleOp) -> bool:
    """Whether a module computes with integers that stand for numbers."""
    return any(isinstance(each, UniformType | DynamicType) for each in element_types(module))


def element_types(module: ModuleOp) -> set[Attribute]:
    """Of all values in a module."""
    values = [value for op in module.walk() for value in op.results]
    values += [
        value for op in module.walk() for region in op.regions for block in region.blocks for value in block.args
    ]
    return {value.type.element_type for value in values if isinstance(value.type, TensorType)}


def differences(before: Sequence[Any], after: Sequence[Any], *, mean: bool = False) -> list[Difference]:
    """Of each output that differs. With `mean` the quadratic mean of an output's."""
    if len(before) != len(after):
        return [Difference(min(len(before), len(after)), float("inf"), (), len(before), len(after), False)]
    found: list[Difference | None] = []
    for output, (a, b) in enumerate(zip(before, after, strict=True)):
        if a is not None and b is not None:
            found.append(difference(output, torch.as_tensor(a), torch.as_tensor(b), mean))
        elif a is not b:  # one of them is None
            found.append(Difference(output, float("inf"), (), float("nan"), float("nan"), False))
    return [each for each in found if each is not None]


def largest_difference(before: Sequence[Any], after: Sequence[Any], *, mean: bool = False) -> Difference | None:
    """The largest one of all outputs; None if there is none."""
    return max(differences(before, after, mean=mean), key=lambda each: each.error, default=None)


def difference(output: int, before: torch.Tensor, after: torch.Tensor, mean: bool) -> Difference | None:
    """The difference of one output."""
    if before.shape != after.shape:
        return Difference(output, float("inf"), (), float(before.numel()), float(after.numel()), False)
    x, y = before.double(), after.double()
    equal = (x == y) | (x.isnan() & y.isnan())
    if bool(equal.all()):
        return None
    distance = torch.where(equal, 0.0, (x - y).abs()).nan_to_num(nan=float("inf"), posinf=float("inf"))
    place = int(distance.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), x.shape)) if x.ndim else ()
    finite = x[x.isfinite()]
    counted = not before.is_floating_point() and not after.is_floating_point()
    if counted and not mean:
        error = float((~equal).double().mean())
    elif mean:
        size = float(finite.square().mean().sqrt()) if finite.numel() else 0.0
        error = float(distance.square().mean().sqrt()) / max(size, 1e-30)
    else:
        size = float(finite.abs().max()) if finite.numel() else 0.0
        error = float(distance.max()) / max(size, 1e-30)
    return Difference(output, error, index, float(x[index]), float(y[index]), counted)
