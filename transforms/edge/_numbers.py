"""Values that are no NaN, by what computes them."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, is_integral
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.transforms.edge._ranges import MOVES


def are_numbers(value: SSAValue, ctx: XirContext) -> bool:
    """Whether a value holds no NaN as long as products of matrices give none.

    So are attention's scores: products of matrices, scaled, and added to others or to constants.
    """
    pending, seen = [value], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        match op := value.owner:
            case edge.ConstantOp():
                if np.isnan(constant_array(op.value, ctx, op)).any():
                    return False
            case edge.FullOp() | edge.FullLikeOp():
                number = op.argument("fill_value")
                if not isinstance(number, int | float) or math.isnan(number):
                    return False
            case edge.MatmulOp() | edge.BmmOp() | edge.BaddbmmOp():
                continue
            case edge.ToCopyOp():
                if not is_integral(element_of(op.self)):
                    pending.append(op.self)
            case edge.MulScalarOp() | edge.DivScalarOp():
                if not is_factor(op):
                    return False
                pending.append(op.self)
            case edge.AddTensorOp():
                pending += [op.self, op.other]
            case edge.EdgeOp() if op.name in MOVES:
                pending += op.tensor_operands
            case _:
                return False
    return True


def is_factor(op: edge.MulScalarOp | edge.DivScalarOp) -> bool:
    """Whether the number is finite, not 0, and known."""
    number = op.argument("other")
    return isinstance(number, int | float) and math.isfinite(number) and number != 0
