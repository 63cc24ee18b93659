"""How numbers meet types: what an op computes with, of the numbers among its arguments.

ATen converts a number to the type that an elementwise op computes in, as it does its other operands, where integers
wrap around. Beside halves some ops compute in fp32 and take the number as it is (`opmath_t` in
aten/src/ATen/native/cpu). The importer writes each number as the op uses it (`met`); so whoever computes in fp32 with
what stands in the IR does what ATen does: kernels, rules, decompositions and evaluators alike. Nothing else converts
one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType, bf16, f16, i64
from xdsl.ir import Attribute, SSAValue

from xir.ir.elements import stored, values_of

from . import families, ops
from .base import EdgeOp
from .types import element_of, is_float, result_element, shape_of

KEEPS_NUMBERS = (
    ops.MulScalarOp,
    ops.DivScalarOp,
    ops.DivScalarModeOp,
    ops.LeakyReluOp,
    ops.EluOp,
    ops.SoftplusOp,
    ops.AddmmOp,
    ops.BaddbmmOp,
    ops.ArangeStartStepOp,
    ops.LinalgVectorNormOp,
    ops.VarCorrectionOp,
    ops.TorchaoChooseQparamsAffineOp,
    ops.TorchaoQuantizeAffineOp,
    ops.TorchaoDequantizeAffineOp,
)
"""Ops whose numbers are never rounded to a floating-point type."""

KEEPS_SECOND = (ops.MulTensorOp, ops.DivTensorOp, ops.DivTensorModeOp)
"""Ops that take a second operand without dimensions for a number, and keep it beside halves."""

HALVES: tuple[Attribute, ...] = (f16, bf16)


def met(op: EdgeOp, name: str) -> Any:
    """The argument `name`, a number, as the op uses it: of its own type where that is the same number.

    What is no number, None or one that is known at run time, stays, and so does what no element of the type is.
    """
    value = op.argument(name)
    if not isinstance(value, bool | int | float):
        return value
    element = _element_met(op, value)
    if element not in HALVES and not isinstance(element, IntegerType):
        return value
    if is_float(element) and isinstance(op, KEEPS_NUMBERS):
        return value
    if isinstance(op, ops.ArangeStartStepOp) and name == "end":
        value = _integer_end(op, value)
    try:
        made = values_of(stored(np.asarray(value), element), element).item()
    except (ValueError, OverflowError):
        return value
    return value if made == value or made != made else made


def numbers_met(op: EdgeOp) -> dict[str, Any]:
    """The numbers that an op uses other than they are given, by name."""
    names = [each.name for each in op.schema.arguments if each.type.base == "Scalar" and not each.type.is_list]
    given = {name: op.argument(name) for name in names}
    used = {name: met(op, name) for name in names}
    return {name: value for name, value in used.items() if value is not given[name]}


def _integer_end(op: ops.ArangeStartStepOp, end: float) -> float:
    """The end of a range of integers that has as many of them as there are numbers in the range that is given: ATen
    counts before it converts, but for int64 (`arange_out` in aten/src/ATen/native/RangeFactories.cpp)."""
    start, step = op.argument("start"), op.argument("step")
    if not isinstance(start, int | float) or not isinstance(step, int | float) or not int(step):
        return end
    if element_of(op.results[0]) == i64 or all(isinstance(each, int) for each in (start, end, step)):
        return end
    return int(start) + math.ceil((end - start) / step) * int(step)


def is_kept(op: EdgeOp, value: SSAValue) -> bool:
    """Whether ATen keeps the value of an operand beside halves: it is a number to it."""
    result = element_of(op.results[0])
    if not isinstance(op, KEEPS_SECOND) or value is not op.operands[1] or result not in HALVES:
        return False
    return not shape_of(value) and element_of(value) != result


def _element_met(op: EdgeOp, value: float) -> Attribute:
    """The type that ATen converts a number of an op to."""
    if isinstance(op, families.CompareWithNumber):
        tensors = (each for each in op.operands if isinstance(each.type, TensorType))
        return result_element(tensors, (value,))
    element = element_of(op.results[0])
    # Its numbers count in int64 whatever the type of its integers (`at::acc_type`): a step of -1 is none of 255.
    return i64 if isinstance(op, ops.ArangeStartStepOp) and isinstance(element, IntegerType) else element
