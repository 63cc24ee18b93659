"""torchao's quantisation by blocks, which ExecuTorch has no kernels for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, f32, i64
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of
from xir.transforms.analysis.quantization_parameters import integer_range
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, static_sizes

SMALLEST = float(np.finfo(np.float32).smallest_normal)
"""The smallest scale where none is given."""


@decomposition
def choose_qparams_affine(op: edge.TorchaoChooseQparamsAffineOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """Of each block's extent, 0 included: `(max - min) / (quant_max - quant_min)` and `quant_min - round(min / scale)`;
    symmetric: `max(-min, max) / ((quant_max - quant_min) / 2)` and the middle of the range"""
    value, kind, block_size = op.input, op.mapping_type, static_sizes(op.block_size)
    if value is None or element_of(value) != f32 or block_size is None or not isinstance(op.target_dtype, IntegerType):
        return None
    if (blocks := Blocks.of(value, block_size, b)) is None:
        return None
    low, high = integer_range(op)
    split = b.view(value, blocks.split)
    least = b.call(edge.ClampOp, self=b.call(edge.AminOp, self=split, dim=blocks.inner, keepdim=True), max=0.0)
    most = b.call(edge.ClampOp, self=b.call(edge.AmaxOp, self=split, dim=blocks.inner, keepdim=True), min=0.0)
    match kind:
        case "ASYMMETRIC":
            scale = b.call(
                edge.DivScalarOp, self=b.call(edge.SubTensorOp, self=most, other=least), other=float(high - low)
            )
        case "SYMMETRIC":
            largest = b.call(edge.MaximumOp, self=b.call(edge.NegOp, self=least), other=most)
            scale = b.call(edge.DivScalarOp, self=largest, other=(high - low) / 2)
        case "SYMMETRIC_NO_CLIPPING_ERR":
            below = b.call(edge.DivScalarOp, self=least, other=float(low))
            scale = b.call(edge.MaximumOp, self=below, other=b.call(edge.DivScalarOp, self=most, other=float(high)))
        case _:
            return None
    scale = b.call(edge.ClampOp, self=scale, min=SMALLEST if op.eps is None else op.eps)
    if kind == "ASYMMETRIC":
        steps = b.call(edge.RoundOp, self=b.call(edge.DivTensorOp, self=least, other=scale))
        zero_point = b.call(
            edge.ClampOp, self=b.call(edge.RsubScalarOp, self=steps, other=float(low)), min=low, max=high
        )
    else:
        zero_point = b.call(edge.FullLikeOp, self=scale, fill_value=float(int((high + low + 1) / 2)))
    kept = blocks.counts if op.keepdim else blocks.squeezed
    return [
        b.convert(b.view(made, kept), like=wanted) for made, wanted in zip((scale, zero_point), op.results, strict=True)
    ]


@decomposition
def quantize_affine(op: edge.TorchaoQuantizeAffineOp, b: EdgeBuilder) -> SSAValue | None:
    """`clamp(round(input * (1 / scale)) + zero_point, quant_min, quant_max)`, parameters broadcast over their blocks"""
    value, scale, zero_point = op.input, op.scale, op.zero_point
    block_size = static_sizes(op.block_size)
    if element_of(value) != f32 or block_size is None or (blocks := Blocks.of(value, block_size, b)) is None:
        return None
    low, high = integer_range(op)
    inverse = b.call(edge.ReciprocalOp, self=blocks.parameters(b.convert(scale, like=value), b))
    whole = b.call(edge.RoundOp, self=b.call(edge.MulTensorOp, self=b.view(value, blocks.split), other=inverse))
    if zero_point is not None:
        shift = blocks.parameters(b.convert(zero_point, like=value), b)
        whole = b.call(edge.AddTensorOp, self=whole, other=shift)
    limited = b.call(edge.ClampOp, self=whole, min=low, max=high)
    return b.view(b.convert(limited, like=op.results[0]), b.sizes(value))


@decomposition
def dequantize_affine(op: edge.TorchaoDequantizeAffineOp, b: EdgeBuilder) -> SSAValue | None:
    """`(input - zero_point) * scale`, parameters broadcast over their blocks; where those are channels,
    `dequantize_per_channel`"""
    value, scale, zero_point = op.input, op.scale, op.zero_point
    if (block_size := static_sizes(op.block_size)) is None or (blocks := Blocks.of(value, block_size, b)) is None:
        return None
    if DYNAMIC_INDEX in shape_of(scale) and DYNAMIC_INDEX not in shape_of(value):
        return None
    result = op.results[0]
    channels = [axis for axis, count in enumerate(blocks.counts) if count != 1]
    if len(channels) == 1 and block_size[channels[0]] == 1 and element_of(result) == f32:
        low, high = integer_range(op)
        return b.call(
            edge.QuantizedDecomposedDequantizePerChannelOp,
            input=value,
            scales=b.view(scale, [-1]),
            zero_points=None if zero_point is None else b.view(b.call(edge.ToCopyOp, self=zero_point, dtype=i64), [-1]),
            axis=channels[0],
            quant_min=low,
            quant_max=high,
            dtype=element_of(value),
        )
    numbers = b.convert(b.view(value, blocks.split), like=result)
    if zero_point is not None:
        shift = blocks.parameters(b.convert(zero_point, like=result), b)
        numbers = b.call(edge.SubTensorOp, self=numbers, other=shift)
    scaled = b.call(edge.MulTensorOp, self=numbers, other=blocks.parameters(b.convert(scale, like=result), b))
    return b.view(scaled, b.sizes(value))


@dataclass(frozen=True)
class Blocks:
    """The blocks of a tensor whose elements share parameters, as dimensions of their own."""

    split: list[edge.Size]
    """The tensor's shape, a dimension that holds several blocks as two: how many, and how large."""
    inner: list[int]
    """The dimensions of `split` that lie within a block."""
    counts: list[edge.Size]
    """How many blocks each dimension of the tensor holds."""
    squeezed: list[edge.Size]
    """`counts` without the dimensions of `split` that lie within a block."""

    @staticmethod
    def of(value: SSAValue, block_size: Sequence[int], b: EdgeBuilder) -> Blocks | None:
        """The blocks of `block_size` in a tensor; None if they do not divide it, or an open dimension has several."""
        split: list[edge.Size] = []
        inner: list[int] = []
        counts: list[edge.Size] = []
        for axis, (size, block) in enumerate(zip(shape_of(value), block_size, strict=True)):
            if block == 1:
                counts.append(b.size(value, axis))
            elif block == size:
                inner.append(len(split))
                counts.append(1)
            elif size < 0 or block < 1 or size % block:
                return None
            else:
                counts.append(size // block)
                inner.append(len(split) + 1)
            split += [b.size(value, axis)] if block in (1, size) else [size // block, block]
        squeezed = [size for axis, size in enumerate(split) if axis not in inner]
        return Blocks(split, inner, counts, squeezed)

    def parameters(self, value: SSAValue, b: EdgeBuilder) -> SSAValue:
        """A parameter of each block in a shape that broadcasts to `split`."""
        return b.view(value, [1 if axis in self.inner else size for axis, size in enumerate(self.split)])
