"""Layers on 8-bit integers or fp16 that compute in fp32 between two conversions: what each form takes, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation, SSAValue

from xir.cost.processors import caveat, least_saved
from xir.cost.profile import CostProfile
from xir.cost.work import Work
from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import WeightedOp, element_type, shape_of, tensor_type
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.ir.remarks import Figure, missed
from xir.ir.shapes import Shape
from xir.transforms.analysis.static_tensor import dequantized
from xir.transforms.xnnpack.analysis import node_costs
from xir.transforms.xnnpack.analysis.stays_float import name_of

LEAST_GAIN = 0.1
"""The share of the time that fp32 must save by figures that were measured: predictions are not closer than that."""

Narrow = Literal["int8", "fp16"]
"""The numbers of a layer that may compute in fp32 instead."""

FORMS: Mapping[Narrow, Callable[[Work], Work | None]] = {"int8": node_costs.on_integers, "fp16": node_costs.on_halves}
"""What a node does on such numbers, of what it does on fp32."""

CONVERTED: Mapping[Narrow, Callable[[Shape], Work]] = {
    "int8": node_costs.converted,
    "fp16": node_costs.converted_halves,
}
"""A conversion between them and fp32."""

STAYS: Mapping[Narrow, tuple[str, str]] = {
    "int8": ("stays-integer", "on integers"),
    "fp16": ("stays-half", "in fp16"),
}
"""The name of the remark that a node keeps them, and what it says."""

FIGURES: Mapping[Narrow, str] = {"int8": "IntegerMicroseconds", "fp16": "HalfMicroseconds"}
"""What remarks call a node's time."""


@dataclass(frozen=True)
class Times:
    """What a node takes, in microseconds."""

    narrow: float
    """On the numbers that it has."""
    floats: float
    """With the conversions before and behind it."""
    least: float = LEAST_GAIN
    """The share of the time that fp32 must save."""
    caveat: str = ""
    """What is to be said of these times."""
    numbers: Narrow = "int8"

    @property
    def gains(self) -> bool:
        """Whether fp32 saves enough."""
        return self.floats <= (1 - self.least) * self.narrow

    def __str__(self) -> str:
        return f"{self.numbers} {self.narrow:.1f} µs, fp32 with conversions {self.floats:.1f} µs{self.caveat}"

    @property
    def figures(self) -> dict[str, Figure]:
        """For a remark."""
        return {FIGURES[self.numbers]: round(self.narrow, 1), "Microseconds": round(self.floats, 1)}


def least_gain(times: Sequence[Times]) -> Times:
    """Those of the processor that gains the least of what it has to."""
    return max(times, key=lambda each: each.floats / each.narrow / (1 - each.least))


def one_image(value: SSAValue) -> Shape:
    """The shape of an image; an open number of images counts as one."""
    batch, *rest = shape_of(value)
    return (max(batch, 1), *rest)


def times_of(floats: Work, image: Shape, result: Shape, profile: CostProfile, numbers: Narrow = "int8") -> Times | None:
    """What a node takes that does this work in fp32, from an image to a result; None where the profile lacks a kernel
    that either form needs."""
    narrow, converted = FORMS[numbers](floats), CONVERTED[numbers]
    between = (converted(image), floats, converted(result))
    if narrow is None or not all(map(profile.knows, (narrow, *between))):
        return None
    times = (profile.nanoseconds(narrow) / 1e3, sum(map(profile.nanoseconds, between)) / 1e3)
    return Times(*times, least_saved(profile, LEAST_GAIN), caveat([profile]), numbers)


def tell_narrow(node: WeightedOp, times: Times) -> None:
    """A missed remark: fp32 does not save enough."""
    reason = f"{times}, which has to be {100 * times.least:.0f} % less"
    name, on = STAYS[times.numbers]
    missed(node, name, f"{name_of(node)} computes {on}", reason, figures=times.figures)


def widened(op: WeightedOp, ctx: XirContext) -> list[Operation] | None:
    """What computes a node's result in fp32, the last of it the conversion back; None if its filter or its bias is no
    constant."""
    constants = [_in_floats(value, ctx) for value in op.operands[1:]]
    known = [constant for constant in constants if constant is not None]
    if len(known) < len(constants):
        return None
    before = _converted(op.input, tensor_type(f32, shape_of(op.input)))
    node = type(op).create(
        operands=[before.output, *(constant.output for constant in known)],
        result_types=[tensor_type(f32, shape_of(op.output))],
        properties=dict(op.properties),
    )
    behind = _converted(node.output, op.output.type)
    for each in (before, node, behind):
        inherit(each, op)
    return [before, *(constant for constant in known if constant.parent is None), node, behind]


def _in_floats(value: SSAValue, ctx: XirContext) -> xnnpack.ConstantOp | None:
    """A constant in fp32, itself if it is; None if `value` is none."""
    element, constant = element_type(value), value.owner
    if not isinstance(constant, xnnpack.ConstantOp) or element == f32:
        return constant if isinstance(constant, xnnpack.ConstantOp) else None
    numbers = storage_array(constant.elements, ctx, constant)
    if isinstance(element, UniformType):
        numbers = dequantized(numbers, element)
    made = xnnpack.ConstantOp(make_dense(numbers.astype(np.float32, copy=False), ctx, "constant"))
    made.location = constant.location
    return made


def _converted(value: SSAValue, result: TensorType) -> xnnpack.ConvertOp:
    """A conversion to another type."""
    return xnnpack.ConvertOp.create(operands=[value], result_types=[result])
