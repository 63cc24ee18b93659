"""`fuse-quantized-embedding`: of a quantised table, the rows that are looked up are dequantised, not all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32, i8, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import edge
from xir.dialects.edge.families import Dequantize
from xir.dialects.edge.types import element_of, shape_of, ui8
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.transforms.analysis.quantization_parameters import integer_range, known
from xir.transforms.edge.decompositions import EdgeBuilder

BLOCK = 1 << 20
"""How many elements of a table are packed at once."""


@dataclass(frozen=True)
class FuseQuantizedEmbeddingPass(XirPass):
    """Look up rows in quantised tables, and dequantise only these rows.

    A table whose integers are declared as -8 to 7, or -2 to 1, is packed, two or four to a byte. Scales are for rows,
    or for groups within rows.

    Before:
    ```mlir
    %1 = edge.quantized_decomposed.dequantize_per_channel(%table, %scales, none)
           {axis = 0 : i64, quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8}
           : (tensor<9x4xi8>, tensor<9xf32>) -> tensor<9x4xf32>
    %2 = edge.embedding(%1, %indices) : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
    ```
    After:
    ```mlir
    %packed = edge.constant dense_resource<table_4bit> : tensor<9x2xui8>
    %2 = edge.quantized_decomposed.embedding_4bit(%packed, %scales, none, %indices)
           {weight_quant_max = 7 : i64, weight_quant_min = -8 : i64}
           : (tensor<9x2xui8>, tensor<9xf32>, tensor<3xi64>) -> tensor<3x4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "tables of two rows in 8, 4 and 2 bits, with parameters for rows and for groups"

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Fuse every look-up of a constant table."""
        rewrite_patterns(op, [FuseLookUp(ctx)], graphs=False)


@dataclass(frozen=True)
class FuseLookUp(RewritePattern):
    """embedding(dequantised table, indices) → embedding_byte, _4bit or _2bit (table, scales, indices)."""

    ctx: XirContext

    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.EmbeddingOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite the look-up."""
        dequantize = op.weight.owner
        result = element_of(op.results[0])
        if not isinstance(dequantize, Dequantize) or result not in (f32, f16, bf16):
            return
        table, scales = dequantize.operands[0], self.scales(dequantize)
        if not isinstance(table.owner, edge.ConstantOp) or element_of(table) not in (i8, ui8) or scales is None:
            return
        low, high = integer_range(dequantize)
        bits = self.bits(table, low, high)
        constants: list[edge.ConstantOp] = []

        def constant(array: np.ndarray, suffix: str) -> SSAValue:
            assert isinstance(table.owner, edge.ConstantOp)
            name = f"{table.owner.resource or 'table'}_{suffix}"
            constants.append(edge.ConstantOp(make_dense(array, self.ctx, name), op.location))
            return constants[-1].result

        weight = table if bits == 8 else constant(packed(self.integers(table), bits), f"{bits}bit")
        given, factors, points = scales
        is_usable = shape_of(given) == factors.shape and element_of(given) == f32
        b = EdgeBuilder()
        indices = op.indices
        if element_of(indices) != i64:
            indices = b.call(edge.ToCopyOp, self=indices, dtype=i64)
        # The kernels take zero points in the type of the result.
        shifts = None if not points.any() else constant(points.astype(np.float32), "zero_points")
        if shifts is not None and result != f32:
            shifts = b.call(edge.ToCopyOp, self=shifts, dtype=result)
        look_up, look_up_as = OPS[bits]
        arguments = {
            "weight": weight,
            "weight_scales": given if is_usable else constant(factors.astype(np.float32), "scales"),
            "weight_zero_points": shifts,
            "weight_quant_min": low,
            "weight_quant_max": high,
            "indices": indices,
        }
        made = b.call(look_up, **arguments) if result == f32 else b.call(look_up_as, **arguments, dtype=result)
        passed(op, "look-up", f"dequantises the rows that are looked up in a table of {bits} bits")
        rewriter.replace(op, [*constants, *b.ops], [made])

    def scales(self, op: Dequantize) -> tuple[SSAValue, np.ndarray, np.ndarray] | None:
        """The scales and zero points of a table's rows, [rows], or of groups in them, [rows, groups], and where the
        scales are from; None for others."""
        rows, features = shape_of(op.operands[0])
        match op:
            case edge.QuantizedDecomposedDequantizePerChannelOp() if op.axis in (0, -2):
                given, points, group = op.scales, op.zero_points, features
            case edge.QuantizedDecomposedDequantizePerChannelGroupOp():
                given, points, group = op.scales, op.zero_points, op.group_size
            case edge.TorchaoDequantizeAffineOp() if op.block_size[0] == 1:
                given, points, group = op.scale, op.zero_point, op.block_size[1]
            case _:
                return None
        factors, shifts = known(given, self.ctx), known(points, self.ctx)
        if factors is None or (points is not None and shifts is None) or not isinstance(group, int) or group < 1:
            return None
        shape = (rows,) if group == features else (rows, features // group)
        if features % group or factors.size != np.prod(shape) or (shifts is not None and shifts.size != factors.size):
            return None
        return given, factors.reshape(shape), (np.zeros(shape) if shifts is None else shifts.reshape(shape))

    def bits(self, table: SSAValue, low: int, high: int) -> int:
        """How many bits an element takes: those of the declared range, where rows fill whole bytes."""
        features = shape_of(table)[1]
        for bits in (2, 4):
            least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
            if element_of(table) == i8 and least <= low and high <= most and features % (8 // bits) == 0:
                integers = self.integers(table)
                return bits if integers.size and least <= integers.min() and integers.max() <= most else 8
        return 8

    def integers(self, table: SSAValue) -> np.ndarray:
        """The elements of a constant table."""
        assert isinstance(table.owner, edge.ConstantOp)
        return storage_array(table.owner.value, self.ctx, table.owner)


OPS: dict[int, tuple[Callable[..., edge.EdgeOp], Callable[..., edge.EdgeOp]]] = {
    8: (edge.QuantizedDecomposedEmbeddingByteOp, edge.QuantizedDecomposedEmbeddingByteDtypeOp),
    4: (edge.QuantizedDecomposedEmbedding4bitOp, edge.QuantizedDecomposedEmbedding4bitDtypeOp),
    2: (edge.QuantizedDecomposedEmbedding2bitOp, edge.QuantizedDecomposedEmbedding2bitDtypeOp),
}
"""Bits -> the op whose result has the type of the scales, and the one that is told a type."""


def packed(table: np.ndarray, bits: int) -> np.ndarray:
    """A table [rows, features] of int8 as bytes: with the range's middle added, in 4 bits the first of two in the high
    half of its byte, in 2 bits the first of four in the lowest bits (`_pack_embedding_weight` of `exir/passes/
    _quant_patterns_and_replacements.py` in pytorch/executorch 1.5)."""
    per_byte = 8 // bits
    shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)
    rows, features = table.shape
    made = np.zeros((rows, features // per_byte), np.uint8)
    step = max(BLOCK // features, 1)
    for begin in range(0, rows, step):
        part = (table[begin : begin + step] + (1 << (bits - 1))).astype(np.uint8)
        for place, shift in enumerate(shifts):
            made[begin : begin + step] |= part[:, place::per_byte] << shift
    return made
