"""Mirrored and repeated borders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import rank_of
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import StaticTensor
from xir.transforms.xnnpack.legalizations.dynamic_sizes import NO_DONOR, UNBOUNDED, size_as_number
from xir.transforms.xnnpack.legalizations.resampling_weights import TOO_MANY_WEIGHTS, open_weights
from xir.transforms.xnnpack.legalizations.reshaping import joined
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder, Quantized, rule
from xir.transforms.xnnpack.legalizations.shape import padding_by_dimension
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END, run

NEGATIVE_PADDING = Refusal(
    "its padding is negative", example=call("edge.reflection_pad1d", self=tensor(2, 3, 8), padding=[-1, 2])
)

ReflectionPad = edge.ReflectionPad1dOp | edge.ReflectionPad2dOp | edge.ReflectionPad3dOp
ReplicationPad = edge.ReplicationPad1dOp | edge.ReplicationPad2dOp | edge.ReplicationPad3dOp


@rule(quantized=Quantized.MOVES, refuses=(NEGATIVE_PADDING, TOO_MANY_WEIGHTS, NO_DONOR, UNBOUNDED, FROM_DYNAMIC_END))
def border_pad(op: ReflectionPad | ReplicationPad, b: NodeBuilder) -> SSAValue:
    """Surround with the mirrored or repeated border, one slice for each new row and column before an open end."""
    value, reflect = op.self, isinstance(op, ReflectionPad)
    before, after = padding_by_dimension(b.integers(op.padding), rank_of(value))
    if min(*before, *after) < 0:
        raise NEGATIVE_PADDING()
    for dim in range(rank_of(value)):
        first = [run(b, value, dim, i if reflect else 0, 1) for i in range(before[dim], 0, -1)]
        behind = from_end(b, value, dim, [i if reflect else 0 for i in range(1, after[dim] + 1)])
        value = joined(b, [*first, value, *behind], dim)
    return value


def from_end(b: NodeBuilder, value: SSAValue, dim: int, places: Sequence[int]) -> list[SSAValue]:
    """The elements of a dimension at `places`, counted from the last one.

    Those of an open dimension are picked by a product with a matrix, which knows the size.
    """
    size, rank = b.shape(value)[dim], rank_of(value)
    if not places or not isinstance(size, SymbolicSize):
        return [run(b, value, dim, size - 1 - place, 1) for place in places]
    counted = np.array(places, np.float32).reshape(1, 1, len(places), 1)
    indices = b.static(StaticTensor.of(counted, f32, "from_end"))
    weights = open_weights(b, size, len(places), b.binary("subtract", size_as_number(b, size - 1), indices))
    matrix = b.reshape(weights, (*[1] * (rank - 2), len(places), size))
    if dim == rank - 2:
        return [b.node(xnnpack.BatchMatrixMultiplyOp, [matrix, value])]
    swapped = [*range(rank)]
    swapped[dim], swapped[-1] = rank - 1, dim
    rows = b.transpose(value, swapped)
    return [b.transpose(b.node(xnnpack.BatchMatrixMultiplyOp, [rows, matrix], {"transpose_b": UnitAttr()}), swapped)]
