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
from xir.ir.numerics import Numerics

ROUNDINGS = 64
"""How many roundings of a program's type its outputs may be away where a pass computes constants anew."""

AMPLIFIED = 8
"""How many times as far as by roundings of all its constants, at random, outputs may be away where that is more.

A network without shortcuts makes much of little: Inception v4 moves its outputs by a thousand roundings."""

MOST_MOVED = 0.1
"""The most that this may be: what is moved further by roundings shows nothing."""

ROUNDING: dict[type[Attribute], float] = {BFloat16Type: 2.0**-9, Float16Type: 2.0**-12, Float32Type: 2.0**-24}
"""Half the relative distance of neighbours, of each type that constants are computed in."""

SAME = 1e-9
"""What fp64 leaves of the same numbers, added up in another order."""

BIASES = 1e-3
"""In quantised programs: half a step of input · filter of a bias, a small part of a step of the result."""

RUN_TIME_RANGES = 2e-2
"""Of numbers quantised at run time: half a step of 1/127 at the end of a range, in a few elements of a sum."""

FLIPPED = 1e-2
"""How many integers or truth values may differ where numbers were rounded: those of a comparison of equals."""

KERNELS = 2e-3
"""What kernels in fp32 leave: their functions have 20 bits, and sums of thousands lose some more."""

HALF_KERNELS = 2e-2
"""What kernels in fp16 or bf16 leave without a closer look. Beyond, each op is compared by itself."""

QUANTISED_KERNELS = 2e-2
"""The same of quantised kernels, as the quadratic mean: one step more or less in a layer is many behind it."""

REPEATED = 1e-3
"""How far two runs of the same kernels may be apart, in the order of their additions."""


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


def tolerance(numerics: Numerics, module: ModuleOp) -> float:
    """How far the outputs may move that a pass with these numerics makes of `module`."""
    if numerics is Numerics.SAME:
        return SAME
    types = element_types(module)
    coarsest = max((ROUNDING.get(type(element), 0.0) for element in types), default=0.0)
    if numerics is Numerics.KERNELS:
        if any(isinstance(element, UniformType | DynamicType) for element in types):
            return QUANTISED_KERNELS
        return KERNELS if coarsest <= ROUNDING[Float32Type] else HALF_KERNELS
    at_run_time = any("choose_qparams" in op.name for op in module.walk()) or any(
        isinstance(element, DynamicType) for element in types
    )
    is_quantised = any("quantize" in op.name for op in module.walk()) or any(
        isinstance(element, UniformType) for element in types
    )
    steps = RUN_TIME_RANGES if at_run_time else BIASES if is_quantised else 0.0
    return max(ROUNDINGS * max(coarsest, ROUNDING[Float32Type]), steps)


def rounding_of(module: ModuleOp) -> float:
    """A rounding of the coarsest type of a module's numbers, fp32's at least."""
    return max((ROUNDING.get(type(each), 0.0) for each in element_types(module)), default=0.0) or ROUNDING[Float32Type]


def element_types(module: ModuleOp) -> set[Attribute]:
    """Of all values in a module."""
    values = [value for op in module.walk() for value in op.results]
    values += [
        value for op in module.walk() for region in op.regions for block in region.blocks for value in block.args
    ]
    return {value.type.element_type for value in values if isinstance(value.type, TensorType)}


def largest_difference(before: Sequence[Any], after: Sequence[Any], *, mean: bool = False) -> Difference | None:
    """The largest difference of all outputs; None if there is none. With `mean` the quadratic mean of an output's."""
    if len(before) != len(after):
        return Difference(min(len(before), len(after)), float("inf"), (), len(before), len(after), False)
    found: Difference | None = None
    for output, (a, b) in enumerate(zip(before, after, strict=True)):
        each = difference(output, torch.as_tensor(a), torch.as_tensor(b), mean)
        if each is not None and (found is None or each.error > found.error):
            found = each
    return found


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
    if counted:
        error = float((~equal).double().mean())
    elif mean:
        size = float(finite.square().mean().sqrt()) if finite.numel() else 0.0
        error = float(distance.square().mean().sqrt()) / max(size, 1e-30)
    else:
        size = float(finite.abs().max()) if finite.numel() else 0.0
        error = float(distance.max()) / max(size, 1e-30)
    return Difference(output, error, index, float(x[index]), float(y[index]), counted)
