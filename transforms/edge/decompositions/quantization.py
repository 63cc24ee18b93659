"""torchao's quantisation by blocks, which ExecuTorch has no kernels for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, shape_of
from xir.transforms.analysis.quantization_parameters import integer_range
from xir.transforms.edge.decompositions.rule import EdgeBuilder, Size, decomposition

SMALLEST = float(np.finfo(np.float32).smallest_normal)
"""The smallest scale where none is given."""


@decomposition("edge.torchao.choose_qparams_affine")
def choose_qparams_affine(op: edge.EdgeOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """Of each block's extent, 0 included: `(max - min) / (quant_max - quant_min)` and `quant_min - round(min / scale)`;
    symmetric: `max(-min, max) / ((quant_max - quant_min) / 2)` and the middle of the range"""
    value, kind = op.tensor("input"), op.value("mapping_type")
    if value is None or element_of(value) != f32:
        return None
    blocks, (low, high) = Blocks.of(value, op.value("block_size"), b), integer_range(op)
    split = b.view(value, blocks.split)
    least = b.call("clamp", self=b.call("amin", self=split, dim=blocks.inner, keepdim=True), max=0.0)
    most = b.call("clamp", self=b.call("amax", self=split, dim=blocks.inner, keepdim=True), min=0.0)
    match kind:
        case "ASYMMETRIC":
            scale = b.call("div.Scalar", self=b.call("sub.Tensor", self=most, other=least), other=float(high - low))
        case "SYMMETRIC":
            largest = b.call("maximum", self=b.call("neg", self=least), other=most)
            scale = b.call("div.Scalar", self=largest, other=(high - low) / 2)
        case "SYMMETRIC_NO_CLIPPING_ERR":
            below = b.call("div.Scalar", self=least, other=float(low))
            scale = b.call("maximum", self=below, other=b.call("div.Scalar", self=most, other=float(high)))
        case _:
            return None
    scale = b.call("clamp", self=scale, min=SMALLEST if op.value("eps") is None else op.value("eps"))
    if kind == "ASYMMETRIC":
        steps = b.call("round", self=b.call("div.Tensor", self=least, other=scale))
        zero_point = b.call("clamp", self=b.call("rsub.Scalar", self=steps, other=float(low)), min=low, max=high)
    else:
        zero_point = b.call("full_like", self=scale, fill_value=float(int((high + low + 1) / 2)))
    kept = blocks.counts if op.value("keepdim") else blocks.squeezed
    return [
        b.convert(b.view(made, kept), like=wanted) for made, wanted in zip((scale, zero_point), op.results, strict=True)
    ]


@decomposition("edge.torchao.quantize_affine")
def quantize_affine(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`clamp(round(input * (1 / scale)) + zero_point, quant_min, quant_max)`, parameters broadcast over their blocks"""
    value, scale, zero_point = op.required("input"), op.required("scale"), op.tensor("zero_point")
    if element_of(value) != f32:
        return None
    blocks, (low, high) = Blocks.of(value, op.value("block_size"), b), integer_range(op)
    inverse = b.call("reciprocal", self=blocks.parameters(b.convert(scale, like=value), b))
    whole = b.call("round", self=b.call("mul.Tensor", self=b.view(value, blocks.split), other=inverse))
    if zero_point is not None:
        shift = blocks.parameters(b.convert(zero_point, like=value), b)
        whole = b.call("add.Tensor", self=whole, other=shift)
    limited = b.call("clamp", self=whole, min=low, max=high)
    return b.view(b.convert(limited, like=op.results[0]), b.sizes(value))


@decomposition("edge.torchao.dequantize_affine")
def dequantize_affine(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`(input - zero_point) * scale`, parameters broadcast over their blocks; where those are channels,
    `dequantize_per_channel`"""
    value, scale, zero_point = op.required("input"), op.required("scale"), op.tensor("zero_point")
    result, blocks = op.results[0], Blocks.of(value, op.value("block_size"), b)
    channels = [axis for axis, count in enumerate(blocks.counts) if count != 1]
    if len(channels) == 1 and op.value("block_size")[channels[0]] == 1 and element_of(result) == f32:
        low, high = integer_range(op)
        return b.call(
            "quantized_decomposed.dequantize_per_channel",
            input=value,
            scales=b.view(scale, [-1]),
            zero_points=None if zero_point is None else b.view(b.call("_to_copy", self=zero_point, dtype=i64), [-1]),
            axis=channels[0],
            quant_min=low,
            quant_max=high,
            dtype=element_of(value),
        )
    numbers = b.convert(b.view(value, blocks.split), like=result)
    if zero_point is not None:
        shift = blocks.parameters(b.convert(zero_point, like=result), b)
        numbers = b.call("sub.Tensor", self=numbers, other=shift)
    scaled = b.call("mul.Tensor", self=numbers, other=blocks.parameters(b.convert(scale, like=result), b))
    return b.view(scaled, b.sizes(value))


@dataclass(frozen=True)
class Blocks:
    """The blocks of a tensor whose elements share parameters, as dimensions of their own."""

    split: list[Size]
    """The tensor's shape, a dimension that holds several blocks as two: how many, and how large."""
    inner: list[int]
    """The dimensions of `split` that lie within a block."""
    counts: list[Size]
    """How many blocks each dimension of the tensor holds."""
    squeezed: list[Size]
    """`counts` without the dimensions of `split` that lie within a block."""

    @staticmethod
    def of(value: SSAValue, block_size: Sequence[int], b: EdgeBuilder) -> Blocks:
        """The blocks of `block_size` in a tensor."""
        split: list[Size] = []
        inner: list[int] = []
        counts: list[Size] = []
        for axis, (size, block) in enumerate(zip(shape_of(value), block_size, strict=True)):
            if block == 1:
                counts.append(b.size(value, axis))
            elif block == size:
                inner.append(len(split))
                counts.append(1)
            else:
                counts.append(size // block)
                inner.append(len(split) + 1)
            split += [b.size(value, axis)] if block in (1, size) else [size // block, block]
        squeezed = [size for axis, size in enumerate(split) if axis not in inner]
        return Blocks(split, inner, counts, squeezed)

    def parameters(self, value: SSAValue, b: EdgeBuilder) -> SSAValue:
        """A parameter of each block in a shape that broadcasts to `split`."""
        return b.view(value, [1 if axis in self.inner else size for axis, size in enumerate(self.split)])
