"""The parameters of quantise and dequantise ops as one type, whichever library the ops come from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge
from xir.dialects.edge.families import Dequantize, Quantize
from xir.dialects.quant import UniformType, storage_limits
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.tensor_types import shape_of


def integer_range(op: Quantize | Dequantize | edge.TorchaoChooseQparamsAffineOp) -> tuple[int, int]:
    """The smallest and the largest integer that an op of quantisation uses."""
    low, high = op.quant_min, op.quant_max
    if low is not None and high is not None:
        return int(low), int(high)
    storage = storage_of(op)
    assert isinstance(storage, IntegerType)
    limits = storage_limits(storage)
    return limits[0] if low is None else int(low), limits[1] if high is None else int(high)


def storage_of(op: Quantize | Dequantize | edge.TorchaoChooseQparamsAffineOp) -> Attribute:
    """The type of an op's integers."""
    match op:
        case edge.TorchaoChooseQparamsAffineOp():
            return op.target_dtype
        case edge.TorchaoQuantizeAffineOp():
            return op.output_dtype
        case edge.TorchaoDequantizeAffineOp():
            return op.input_dtype
        case _:
            return op.dtype


PerTensor = edge.QuantizedDecomposedQuantizePerTensorOp | edge.QuantizedDecomposedDequantizePerTensorOp
"""Ops that have their scale as a number."""

Computed = edge.QuantizedDecomposedQuantizePerTensorTensorOp | edge.QuantizedDecomposedDequantizePerTensorTensorOp
Affine = edge.TorchaoQuantizeAffineOp | edge.TorchaoDequantizeAffineOp
PerChannel = edge.QuantizedDecomposedQuantizePerChannelOp | edge.QuantizedDecomposedDequantizePerChannelOp
PerGroup = edge.QuantizedDecomposedQuantizePerChannelGroupOp | edge.QuantizedDecomposedDequantizePerChannelGroupOp


def parameters(op: Quantize | Dequantize, ctx: XirContext) -> UniformType | None:
    """The type of an op's integers; None if its scales are computed at run time.

    VerifyException for parameters that are none: a scale of 0, a zero point out of range, too few scales.
    """
    storage = storage_of(op)
    if not isinstance(storage, IntegerType):
        return None
    if isinstance(op, PerTensor):
        return by_tensor(storage, op.scale, op.zero_point, integer_range(op))
    stored, given = (op.scale, op.zero_point) if isinstance(op, Computed | Affine) else (op.scales, op.zero_points)
    scales, zero_points = known(stored, ctx), known(given, ctx)
    if scales is None or (given is not None and zero_points is None):
        return None
    return uniform(op, storage, scales, zero_points)


@lru_cache(maxsize=4096)
def by_tensor(storage: IntegerType, scale: float, zero_point: int, limits: tuple[int, int]) -> UniformType:
    """A type with one scale, which XNNPACK holds in fp32; the many ops around one tensor ask for the same."""
    with np.errstate(over="ignore"):
        stored = float(np.float32(scale))
    return UniformType.per_tensor(storage, f32, stored, zero_point, limits)


def known(value: SSAValue | None, ctx: XirContext) -> np.ndarray | None:
    """The elements of a constant."""
    if value is None or not isinstance(value.owner, edge.ConstantOp):
        return None
    return constant_array(value.owner.value, ctx, value.owner)


def uniform(
    op: Quantize | Dequantize, storage: IntegerType, scales: np.ndarray, zero_points: np.ndarray | None
) -> UniformType:
    """The type for the scales that an op has as a tensor. VerifyException if they do not fit the integers."""
    shape = shape_of(op.operands[0])
    if DYNAMIC_INDEX not in shape and scales.size > max(prod(shape), 1):
        raise VerifyException(f"{scales.size} scales for {prod(shape)} numbers")
    scales = scales.astype(np.float32)
    flat = None if zero_points is None else whole(zero_points)
    if flat is not None and len(flat) != scales.size:
        raise VerifyException(f"{scales.size} scales and {len(flat)} zero points: one of each is needed")
    if scales.size == 1:
        zero_point = 0 if flat is None else int(flat[0])
        return UniformType.per_tensor(storage, f32, float(scales.item()), zero_point, integer_range(op))
    blocks = block_sizes(op, shape)
    if list(blocks.values()) == [1]:
        (axis,) = blocks
        element = UniformType.per_axis(storage, f32, axis, scales.ravel(), flat, integer_range(op))
        element.verify_shape(shape)
        return element
    for axis, size in blocks.items():
        if shape[axis] % size:
            raise VerifyException(f"blocks of {size} do not divide the {shape[axis]} indices of dimension {axis}")
    counts = [size // blocks.get(axis, size) for axis, size in enumerate(shape)]
    if prod(counts) != scales.size:
        raise VerifyException(f"{scales.size} scales, where the blocks of the tensor make {counts}")
    points = None if flat is None else flat.reshape(counts)
    return UniformType.blockwise(storage, f32, blocks, scales.reshape(counts), points, integer_range(op))


def whole(zero_points: np.ndarray) -> np.ndarray:
    """Zero points as integers, whatever type they are stored in; VerifyException if they are none."""
    if zero_points.dtype.kind in "iu":
        return zero_points.astype(np.int64).ravel()
    numbers = zero_points.astype(np.float64).ravel()
    if not np.array_equal(numbers, np.rint(numbers)):
        raise VerifyException(f"a zero point is an integer, got {numbers[numbers != np.rint(numbers)][0]:g}")
    return numbers.astype(np.int64)


def block_sizes(op: Quantize | Dequantize, shape: Sequence[int]) -> dict[int, int]:
    """Dimension -> how many neighbours share a scale, for those dimensions along which scales differ."""
    if isinstance(op, PerChannel):
        if not -len(shape) <= op.axis < len(shape):
            raise VerifyException(f"axis {op.axis} is outside of a tensor of rank {len(shape)}")
        return {op.axis % len(shape): 1}
    if isinstance(op, Affine):
        pairs = enumerate(zip(op.block_size, shape, strict=True))
        return {axis: block for axis, (block, size) in pairs if isinstance(block, int) and block != size}
    if isinstance(op, PerGroup):
        return {0: 1} if op.group_size == shape[1] else {0: 1, 1: op.group_size}
    return dict.fromkeys(range(len(shape) - 1), 1)
