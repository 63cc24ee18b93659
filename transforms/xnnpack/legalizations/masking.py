"""Choices between values by a mask that is known at compile time; `lower-masks` makes arithmetic of others.

XNNPACK has neither booleans nor a choice. Under a static mask it takes none: clamping to [v, v] makes any number v, and
clamping to [−∞, ∞] keeps it, infinities included, which a product with zeros and ones would not. (A NaN that the mask
covers may show.)
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge
from xir.dialects.xnnpack.base import element_type
from xir.ir.elements import storage_dtype, stored
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import NOT_STATIC, is_static
from xir.transforms.xnnpack.legalizations.dynamic_sizes import NO_DONOR, UNBOUNDED, minus_infinity
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder, rule
from xir.transforms.xnnpack.legalizations.slicing import FROM_DYNAMIC_END

NAN_FILLED = Refusal(
    "it fills in NaN, which XNNPACK's minimum and maximum ignore",
    example="""
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  %m = edge.constant dense<[true, false]> : tensor<2xi1>
  %n = edge.constant dense<0x7FC00000> : tensor<f32>
  %0 = edge.where.self(%m, %n, %x) : (tensor<2xi1>, tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
""",
)
COMPUTED_MASK = Refusal(
    "its {what} is computed at run time, and XNNPACK has no booleans",
    "choose by arithmetic, as clamp, minimum and maximum do, or add a mask of numbers",
    example=call("edge.where.self", condition=tensor(2, 3, element=i1), self=tensor(2, 3), other=tensor(2, 3)),
)


def static_mask(b: NodeBuilder, value: SSAValue, what: str) -> np.ndarray:
    """The booleans of a static operand; RefusalError, naming it as `what`, if it is computed at run time."""
    if not is_static(value):
        raise COMPUTED_MASK(what=what)
    return b.numbers(value, what)


@rule(refuses=(COMPUTED_MASK, NAN_FILLED, NOT_STATIC))
def where(op: edge.WhereSelfOp, b: NodeBuilder) -> SSAValue:
    """Self where the condition holds, else other."""
    mask = static_mask(b, op.condition, "condition")
    value, other = op.self, op.other
    if isinstance(value.owner, edge.ConstantOp):
        return filled(b, other, mask, filler(b.numbers(value, "self")))
    if isinstance(other.owner, edge.ConstantOp):
        return filled(b, value, ~mask, filler(b.numbers(other, "other")))
    zero = np.asarray(0)
    return b.binary("add", filled(b, value, ~mask, zero), filled(b, other, mask, zero))


@rule(refuses=(COMPUTED_MASK, NAN_FILLED))
def masked_fill_scalar(op: edge.MaskedFillScalarOp, b: NodeBuilder) -> SSAValue:
    """A number where the mask holds, else self."""
    mask = static_mask(b, op.mask, "mask")
    return filled(b, op.self, mask, filler(np.asarray(op.value)))


@rule(refuses=(UNBOUNDED, NO_DONOR, FROM_DYNAMIC_END))
def tril(op: edge.TrilOp, b: NodeBuilder) -> SSAValue:
    """Self on and below a diagonal, else 0."""
    value = op.self
    rows, columns = b.shape(value)[-2:]
    diagonal = b.integer(op.diagonal)
    if isinstance(rows, SymbolicSize) or isinstance(columns, SymbolicSize):
        kept = minus_infinity(b, (rows, columns), diagonal + 1, element_type(value), above=False)
        return b.binary("minimum", b.binary("maximum", value, kept), b.unary("negate", kept))
    return filled(b, value, ~np.tri(rows, columns, diagonal, dtype=np.bool_), np.zeros(()))


def filler(numbers: np.ndarray) -> np.ndarray:
    """Numbers to fill in; RefusalError if one of them is NaN."""
    if np.isnan(numbers).any():
        raise NAN_FILLED()
    return numbers


def extremes(element: Attribute) -> tuple[float, float]:
    """The least and the greatest number of an element type: clamping to them keeps every number."""
    if not isinstance(element, IntegerType):
        return -np.inf, np.inf
    if element == i1:
        return False, True
    limits = np.iinfo(storage_dtype(element))
    return limits.min, limits.max


def filled(b: NodeBuilder, value: SSAValue, mask: np.ndarray, numbers: np.ndarray) -> SSAValue:
    """`numbers` where the mask holds, else `value`; all three broadcast."""
    element = element_type(value)
    if isinstance(element, IntegerType):
        numbers = stored(numbers, element)
    lowest, highest = extremes(element)
    low, high = np.where(mask, numbers, lowest), np.where(mask, numbers, highest)
    has_low, has_high = bool((low > lowest).any()), bool((high < highest).any())
    if has_low:
        value = b.binary("maximum", value, b.constant(low, value, "mask"))
    if has_high or not has_low:
        value = b.binary("minimum", value, b.constant(high, value, "mask"))
    return value
