"""Indices that take each dimension whole and in order: `mask[rows[:, None, None, None], columns[None, None, None]]`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import Shape
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.transforms.analysis.sizes import SymbolicSizes

RESHAPES = frozenset(
    f"edge.{name}" for name in ("view", "_unsafe_view", "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "clone")
)


def whole_dims(op: edge.IndexTensorOp, ctx: XirContext, sizes: SymbolicSizes) -> tuple[int, ...] | None:
    """Where an `index.Tensor` that takes every dimension whole puts new ones of size 1, in ascending order.

    None if it takes anything else. The dimensions of its operand are then the others of its result, in order.
    """
    value, indices = op.self, op.indices
    shape, result = sizes.known(value), sizes.known(op.results[0])
    if len(indices) != len(shape) or None in indices:
        return None
    places: list[int] = []
    for size, index in zip(shape, indices, strict=True):
        assert index is not None
        varying = [dim for dim, each in enumerate(sizes.known(index)) if each != 1]
        if not counts_up(index, size, ctx, sizes) or len(varying) > 1:
            return None
        behind = places[-1] + 1 if places else 0
        offset = len(result) - len(sizes.known(index))
        places.append(offset + varying[0] if varying else behind)
    if any(place >= later for place, later in pairwise([*places, len(result)])):
        return None
    return tuple(dim for dim in range(len(result)) if dim not in places)


def counts_up(index: SSAValue, size: int, ctx: XirContext, sizes: SymbolicSizes) -> bool:
    """Whether the elements of an index are 0, 1, … up to `size` − 1, in order."""
    shape: Shape = sizes.known(index)
    if [each for each in shape if each != 1] != [each for each in (size,) if each != 1]:
        return False
    while isinstance(op := index.owner, edge.EdgeOp) and (op.name in RESHAPES or adds_nothing(op)):
        index = op.operands[0]
    if isinstance(op, edge.ConstantOp):
        return np.array_equal(constant_array(op.value, ctx, op).reshape(-1), np.arange(size))
    return isinstance(op, edge.ArangeStartStepOp) and op.start == 0 and op.step == 1 and sizes.known(index) == (size,)


def adds_nothing(op: edge.EdgeOp) -> bool:
    """Whether an op adds the number 0."""
    return isinstance(op, edge.AddScalarOp) and op.other == 0
