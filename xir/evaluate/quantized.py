"""Quantised values: the numbers that integers stand for, and the integers that numbers become.

A value of a type `!quant.uniform` is held as its integers, one of a type `!xnnpack.qd` as the numbers it stands for.
Numbers are rounded once, to the nearest integer, ties to even. What is so close to a tie that the order of additions
decides is a tie: two programs that mean the same then have the same integers.

Without rounding, integers are numbers in fp64 that keep their fractions, within the bounds of the integers. All is then
continuous: weights that differ in their last bit make results that differ as little, where rounding makes one step of
it, and a deep network many. That is how passes are compared which compute weights anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import WeightedOp, element_type
from xir.importer.dtypes import DTYPES

Tensor = torch.Tensor

NEAR_A_TIE = 2.0**-16
"""Quotients are rounded to multiples of this first, so that ties are ties whatever fp64 made of them."""


def numbers(stored: Tensor, element: Attribute) -> Tensor:
    """What a value of this element type stands for, in fp64; integers that are no quantised numbers stay integers."""
    if isinstance(element, UniformType):
        scale, zero_point = parameters(element, stored.shape)
        return (stored.double() - zero_point) * scale
    return stored.double() if stored.is_floating_point() else stored


def operands_of(op: xnnpack.NodeOp, values: Mapping[SSAValue, Any]) -> list[Tensor]:
    """What the operands of a node stand for to XNNPACK, which adds the integers of a bias to the products of input and
    filter, whatever scales the bias has of its own.
    """
    found = [numbers(values[each], element_type(each)) for each in op.operands]
    if isinstance(op, WeightedOp) and op.bias is not None and isinstance(element_type(op.bias), UniformType):
        scale = product_of_scales(element_type(op.input), element_type(op.filter))
        found[2] = found[2] if scale is None else values[op.bias].double() * scale
    return found


def product_of_scales(value: Attribute, filter: Attribute) -> Tensor | None:
    """The scales of a sum of products, one or one for each output channel; None where the types have none."""
    if not isinstance(value, UniformType) or not isinstance(filter, UniformType):
        return None
    return torch.from_numpy(value.scale * filter.scale_array().astype(np.float64).reshape(-1))


def stored(value: Tensor, element: Attribute, rounds: bool, beyond: float = 0.0) -> Tensor:
    """A value of this element type for numbers in fp64; integers may go `beyond` their largest, by so many steps."""
    if isinstance(element, UniformType):
        scale, zero_point = parameters(element, value.shape)
        limits = (element.storage_min.data, element.storage_max.data + beyond)
        steps = in_steps(value, scale, zero_point, limits, rounds)
        return steps.to(storage_dtype(element.storage)) if rounds else steps
    if isinstance(element, xnnpack.DynamicType):
        return by_row(value, element.row_rank.data) if rounds else value
    return value


def storage_dtype(storage: IntegerType) -> torch.dtype:
    """What holds such integers."""
    if storage.width.data > 8:
        return torch.int32
    return torch.uint8 if storage.signedness.data is Signedness.UNSIGNED else torch.int8


def parameters(element: UniformType, shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Scales and zero points, for each element of a tensor of this shape or broadcast to them."""

    def along(array: np.ndarray) -> Tensor:
        values = torch.from_numpy(np.array(array, np.float64))
        if element.is_per_tensor:
            return values.reshape(())
        if element.is_per_axis:
            return values.reshape([-1 if axis == element.axis else 1 for axis in range(len(shape))])
        return in_blocks(values, shape)

    return along(element.scale_array()), along(element.zero_point_array())


def in_blocks(values: Tensor, shape: Sequence[int]) -> Tensor:
    """One value for each block of a tensor, as one for each element: [2, 1] for [4, 3] has each twice, thrice."""
    for axis, size in enumerate(shape):
        values = values.repeat_interleave(-(-size // values.shape[axis]), axis)[(slice(None),) * axis + (slice(size),)]
    return values


def in_steps(
    value: Tensor, scale: Tensor, zero_point: Tensor, limits: tuple[float, float], rounds: bool = True
) -> Tensor:
    """clamp(round(value / scale) + zero point), in fp64. What is no number becomes the zero point."""
    steps = torch.nan_to_num(value.double() / scale, nan=0.0)
    if rounds:
        steps = torch.round(torch.round(steps / NEAR_A_TIE) * NEAR_A_TIE)
    return torch.clamp(steps + zero_point, *limits)


def by_row(value: Tensor, row_rank: int) -> Tensor:
    """The numbers that are left of rows quantised to i8 at run time, asymmetrically.

    The range of a row, with 0 in it, is divided into 255 steps, and the zero point is an integer. Source: XNNPACK at
    commit 92a7ad501b, `src/xnnpack/quantization.h`; PyTorch's `choose_qparams_per_token_asymmetric` is the same.
    """
    rows, scale, zero_point = rows_of(value, row_rank)
    zero_point = torch.round(zero_point)
    integers = in_steps(rows, scale, zero_point, (-128, 127))
    return ((integers - zero_point) * scale).reshape(value.shape)


def rows_of(value: Tensor, row_rank: int) -> tuple[Tensor, Tensor, Tensor]:
    """The last `row_rank` dimensions as one, and their scales and zero points before these are rounded."""
    rows = value.double().flatten(value.ndim - row_rank)
    low, high = rows.amin(-1, keepdim=True).clamp(max=0), rows.amax(-1, keepdim=True).clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    from_low, from_high = -128 - low / scale, 127 - high / scale
    off_low, off_high = -128 + low / scale, 127 + high / scale
    return rows, scale, torch.where(off_low + off_high > 0, from_low, from_high).clamp(-128, 127)


@dataclass(frozen=True)
class Rows:
    """What rounding makes uncertain of numbers quantised by rows."""

    loose: Tensor
    """How far each number may be from the one that XNNPACK has."""
    reach: Tensor
    """The largest magnitude that a zero point stands for."""


def roundings_of_rows(value: Tensor, row_rank: int, unit: float) -> Rows:
    """How far the numbers of `by_row` may be from those of XNNPACK, which rounds by `unit` on the way.

    One next to a tie, as near as `in_steps` takes for one, may be a step away, and so may one at the end of a range
    whose zero point is next to a tie.
    """
    rows, scale, zero_point = rows_of(value, row_rank)
    steps = rows / scale
    is_tie = ((steps - steps.floor()) - 0.5).abs() <= ROW_ROUNDINGS * unit * steps.abs() + NEAR_A_TIE
    at_tie = ((zero_point - zero_point.floor()) - 0.5).abs() <= ROW_ROUNDINGS * unit * 256
    at_end = (steps + zero_point - 127).abs().minimum((steps + zero_point + 128).abs()) <= 1
    loose = (scale * (is_tie | (at_tie & at_end & (rows != 0)))).reshape(value.shape)
    return Rows(loose, (128 * scale).expand_as(rows).reshape(value.shape))


ROW_ROUNDINGS = 4
"""How often a quotient with the scale of a row is rounded: the range, the scale, its reciprocal, the quotient."""


# Edge ops


def looked_up(op: edge.EdgeOp, args: dict[str, Any]) -> Tensor | None:
    """What look-ups in quantised tables give, in fp64; None for another op."""
    bits = next((bits for name, bits in EMBEDDINGS.items() if op.name.removesuffix(".dtype") == name), None)
    if bits is None:
        return None
    rows = args["weight"][args["indices"]]
    if bits == 8:
        integers = rows.double()
    else:
        shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)
        parts = [(rows >> shift) & ((1 << bits) - 1) for shift in shifts]
        integers = torch.stack(parts, -1).flatten(-2).double() - (1 << (bits - 1))

    def of_elements(table: Tensor) -> Tensor:
        found = table[args["indices"]].double()
        found = found[..., None] if table.ndim == 1 else found
        return found.repeat_interleave(integers.shape[-1] // found.shape[-1], -1)

    points = args.get("weight_zero_points")
    shifted = integers if points is None else integers - of_elements(points)
    return shifted * of_elements(args["weight_scales"])


EMBEDDINGS = {
    f"edge.quantized_decomposed.embedding_{kind}": bits for kind, bits in {"byte": 8, "4bit": 4, "2bit": 2}.items()
}
"""Name of an op that looks rows up in a table of integers -> how many bits an integer takes."""


def per_tensor(args: dict[str, Any], shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """One scale and zero point."""
    return numbers_of(args["scale"]).reshape(()), numbers_of(args["zero_point"]).reshape(())


def per_channel(args: dict[str, Any], shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """A scale for each index of `axis`."""
    place = [1] * len(shape)
    place[args["axis"]] = -1
    scales = numbers_of(args["scales"])
    return scales.reshape(place), zeros_or(args["zero_points"], scales).reshape(place)


def per_row(args: dict[str, Any], shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """A scale for each vector of the last dimension."""
    rows = (*shape[:-1], 1)
    return numbers_of(args["scales"]).reshape(rows), numbers_of(args["zero_points"]).reshape(rows)


def per_group(args: dict[str, Any], shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """A scale for each `group_size` elements of a row."""
    scales = numbers_of(args["scales"])
    return in_blocks(scales, shape), in_blocks(zeros_or(args["zero_points"], scales), shape)


def affine(args: dict[str, Any], shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """A scale for each block of `block_size`."""
    counts = [size // each for size, each in zip(shape, args["block_size"], strict=True)]
    scales = numbers_of(args["scale"]).reshape(counts)
    return in_blocks(scales, shape), in_blocks(zeros_or(args["zero_point"], scales).reshape(counts), shape)


def numbers_of(value: Any) -> Tensor:
    """A number or tensor in fp64."""
    return torch.as_tensor(value).double()


def zeros_or(value: Any, like: Tensor) -> Tensor:
    """Zero points, which may be absent."""
    return torch.zeros_like(like) if value is None else numbers_of(value)


Parameters = Callable[[dict[str, Any], Sequence[int]], tuple[Tensor, Tensor]]

_DECOMPOSED = "edge.quantized_decomposed"

QUANTIZES: dict[str, Parameters] = {
    f"{_DECOMPOSED}.quantize_per_tensor": per_tensor,
    f"{_DECOMPOSED}.quantize_per_tensor.tensor": per_tensor,
    f"{_DECOMPOSED}.quantize_per_channel": per_channel,
    f"{_DECOMPOSED}.quantize_per_channel_group": per_group,
    f"{_DECOMPOSED}.quantize_per_token": per_row,
    "edge.torchao.quantize_affine": affine,
}
"""Edge ops that make integers of numbers, and how their parameters lie over a tensor."""

DEQUANTIZES: dict[str, Parameters] = {
    f"{_DECOMPOSED}.dequantize_per_tensor": per_tensor,
    f"{_DECOMPOSED}.dequantize_per_tensor.tensor": per_tensor,
    f"{_DECOMPOSED}.dequantize_per_channel": per_channel,
    f"{_DECOMPOSED}.dequantize_per_channel_group": per_group,
    f"{_DECOMPOSED}.dequantize_per_token": per_row,
    "edge.torchao.dequantize_affine": affine,
}
"""Edge ops that make numbers of integers."""


def converted(op: edge.EdgeOp, args: dict[str, Any], rounds: bool, beyond: float = 0.0) -> Tensor:
    """What an edge op of the tables above computes, without rounding to fp32 on the way.

    What is not rounded may lie `beyond` its integers, by so many steps.
    """
    value: Tensor = args["input"]
    if (dequantizes := DEQUANTIZES.get(op.name)) is not None:
        scale, zero_point = dequantizes(args, value.shape)
        return (value.double() - zero_point) * scale
    scale, zero_point = QUANTIZES[op.name](args, value.shape)
    dtype = DTYPES[op.argument("output_dtype" if op.name.startswith("edge.torchao") else "dtype")]
    low, high = args["quant_min"], args["quant_max"]
    limits = torch.iinfo(dtype)
    bounds = ((limits.min if low is None else low) - beyond, (limits.max if high is None else high) + beyond)
    steps = in_steps(value, scale, zero_point, bounds, rounds)
    return steps.to(dtype) if rounds else steps
