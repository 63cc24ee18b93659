"""What quantise and dequantise ops say about their integers, as one type, whichever library the ops come from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge
from xir.dialects.quant import UniformType, storage_limits
from xir.dialects.xnnpack.base import shape_of
from xir.ir.constants import constant_array
from xir.ir.context import XirContext

DECOMPOSED = "edge.quantized_decomposed."

AFFINE = "edge.torchao."

_FORMS = ("per_tensor", "per_tensor.tensor", "per_channel", "per_channel_group", "per_token")

QUANTISE = frozenset((*(f"{DECOMPOSED}quantize_{form}" for form in _FORMS), f"{AFFINE}quantize_affine"))
"""Ops that round numbers to integers: their first operand is the numbers."""

DEQUANTISE = frozenset((*(f"{DECOMPOSED}dequantize_{form}" for form in _FORMS), f"{AFFINE}dequantize_affine"))
"""Ops that turn integers into numbers: their first operand is the integers."""

_CHOICES = (".tensor", "_symmetric.tensor", "_per_token_asymmetric")

CHOOSE = frozenset((*(f"{DECOMPOSED}choose_qparams{form}" for form in _CHOICES), f"{AFFINE}choose_qparams_affine"))
"""Ops that compute a scale and a zero point for the range of a tensor, or for each row of it."""


def integer_range(op: edge.EdgeOp) -> tuple[int, int]:
    """The smallest and the largest integer that a quantise or dequantise op speaks of."""
    low, high = op.value("quant_min"), op.value("quant_max")
    if low is not None and high is not None:
        return int(low), int(high)
    storage = storage_of(op)
    assert isinstance(storage, IntegerType)
    limits = storage_limits(storage)
    return limits[0] if low is None else int(low), limits[1] if high is None else int(high)


def storage_of(op: edge.EdgeOp) -> Attribute:
    """The type of an op's integers."""
    if "dtype" in op.schema.values:
        return op.value("dtype")
    return op.value("output_dtype" if op.name in QUANTISE else "input_dtype")


def parameters(op: edge.EdgeOp, ctx: XirContext) -> UniformType | None:
    """The type of an op's integers; None if its scales are computed at run time.

    VerifyException for parameters that are none: a scale of 0, a zero point out of range.
    """
    storage = storage_of(op)
    if not isinstance(storage, IntegerType):
        return None
    if "scale" in op.schema.values:
        return by_tensor(storage, op.value("scale"), op.value("zero_point"), integer_range(op))
    scales = known(op.tensor("scales" if "scales" in op.schema.tensors else "scale"), ctx)
    given = op.tensor("zero_points" if "zero_points" in op.schema.tensors else "zero_point")
    zero_points = None if given is None else known(given, ctx)
    if scales is None or (given is not None and zero_points is None):
        return None
    return uniform(op, storage, scales.astype(np.float32), zero_points)


@lru_cache(maxsize=4096)
def by_tensor(storage: IntegerType, scale: float, zero_point: int, limits: tuple[int, int]) -> UniformType:
    """A type with one scale, which XNNPACK holds in fp32; the many ops around one tensor ask for the same."""
    return UniformType.per_tensor(storage, f32, float(np.float32(scale)), zero_point, limits)


def known(value: SSAValue | None, ctx: XirContext) -> np.ndarray | None:
    """The elements of a constant."""
    if value is None or not isinstance(value.owner, edge.ConstantOp):
        return None
    return constant_array(value.owner.value, ctx, value.owner)


def uniform(op: edge.EdgeOp, storage: IntegerType, scales: np.ndarray, zero_points: np.ndarray | None) -> UniformType:
    """The type for the scales that an op has as a tensor."""
    if zero_points is not None:
        zero_points = zero_points.astype(np.int64).reshape(scales.shape)
    if scales.size == 1:
        zero_point = 0 if zero_points is None else int(zero_points.item())
        return UniformType.per_tensor(storage, f32, float(scales.item()), zero_point, integer_range(op))
    shape = shape_of(op.operands[0])
    blocks = block_sizes(op, shape)
    if list(blocks.values()) == [1]:
        flat = None if zero_points is None else zero_points.ravel().tolist()
        return UniformType.per_axis(storage, f32, next(iter(blocks)), scales.ravel().tolist(), flat, integer_range(op))
    counts = [size // blocks.get(axis, size) for axis, size in enumerate(shape)]
    zero_points = None if zero_points is None else zero_points.reshape(counts)
    return UniformType.blockwise(storage, f32, blocks, scales.reshape(counts), zero_points, integer_range(op))


def block_sizes(op: edge.EdgeOp, shape: Sequence[int]) -> dict[int, int]:
    """Dimension -> how many neighbours share a scale, for those dimensions along which scales differ."""
    if "axis" in op.schema.values:
        return {op.value("axis") % len(shape): 1}
    if "block_size" in op.schema.values:
        pairs = enumerate(zip(op.value("block_size"), shape, strict=True))
        return {axis: block for axis, (block, size) in pairs if block != size}
    if "group_size" in op.schema.values:
        size = op.value("group_size")
        return {0: 1} if size == shape[1] else {0: 1, 1: size}
    return dict.fromkeys(range(len(shape) - 1), 1)
