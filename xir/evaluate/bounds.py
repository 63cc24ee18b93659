"""How far a kernel may be from what its op means, for each element, on the operands that the kernel had.

The bounds are those of rounding error analysis, computed along with the result: a sum of n products is off by a
multiple of the sum of their magnitudes, which the op computes from those of its operands; an integer is the one nearest
to a quotient, but for the roundings of the quotient; a number quantised at run time may be another step where it is
next to a tie, and moves a result by that step's product with a weight. Source: N. J. Higham, "Accuracy and Stability of
Numerical Algorithms", 2nd ed., chapters 3 and 4.

What is no consequence of the computation, but a promise that nobody gives, is a margin: the error of functions
(`FUNCTION`) and of kernels outside delegates (`PORTABLE`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import BoundedOp, WeightedOp, element_type, ints
from xir.dialects.xnnpack.interfaces import movement_of
from xir.evaluate.nodes import evaluate
from xir.evaluate.processor import adds_in_half
from xir.evaluate.quantized import Rows, parameters
from xir.evaluate.unrounded import through_unrounded

Tensor = torch.Tensor

UNIT = 2.0**-24
"""The unit roundoff of fp32: half the distance from 1 to the next number."""
UNITS: dict[type[Attribute], float] = {BFloat16Type: 2.0**-8, Float16Type: 2.0**-11}
"""The same of shorter types."""

SMALLEST: dict[type[Attribute], float] = {Float16Type: 2.0**-24}
"""The least distance of numbers, which small ones are rounded by."""

HALF_UNITS = {type: (unit, SMALLEST.get(type, 0.0) / 2) for type, unit in UNITS.items()}
"""How far numbers are from those that are rounded to them: relative, and at least."""

ROUNDINGS = 4
"""How often a result is rounded besides additions: a product with a scale, that scale itself, a bound, the result."""

LIKELY = 8.0
"""How many times √n units n additions may be off, of the sum of magnitudes.

Roundings are as often up as down, which n units at once would not be; for a sum to be further away has a probability of
2·exp(−8²/2) = 3e-14. Source: N. J. Higham and T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM
Journal on Scientific Computing 41 (2019), theorem 2.4."""

FUNCTION = 32
"""How many units a function may be off, of the largest magnitude of its result; a margin.

XNNPACK approximates functions by polynomials and tables, and says nothing of their errors; besides, the operand may be
off by as much before it."""

PORTABLE = 2.0**-14
"""How far a kernel outside of delegates may be off, of the largest magnitude of its result; a margin.

They add up in any order, in fp32; 2^10 of its units are what sums of a million elements leave."""
PORTABLE_SHORT = 16
"""How many units of a shorter type such a kernel may be off besides; a margin."""

STEP = 0.5
"""The integer nearest to a quotient is half a step away."""
TABLE = 2.0**-8
"""Steps that a table of a function is off besides, as `FUNCTION` of 256 of them; a margin."""

RESCALE_BITS = 8
"""Conversions between integers, and leaky relus, multiply by multiples of 2^-8 (`xnn_init_qs8_cvt_scalar_params`,
`xnn_init_qs8_lrelu_scalar_params`)."""
SUM_BITS = 20
"""Sums of integers multiply by numbers of 20 bits, of the larger scale (`xnn_init_qs8_add_minmax_scalar_params`)."""
PIXEL_BITS = 11
"""Weights of pixels are multiples of 2^-11 (`src/s8-ibilinear`)."""
INTEGERS = 256
"""A quotient has at most so many steps."""


EXACT = frozenset({"abs", "bankers_rounding", "bitwise_not", "ceiling", "floor", "negate", "sign"}) | frozenset(
    {"bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "maximum", "minimum", "max", "min"}
)
"""Kinds that compute nothing that would have to be rounded, on operands of any type."""

ARITHMETIC = frozenset({"add", "multiply", "prelu", "square", "squared_difference", "subtract"})
"""Kinds whose result is rounded, and no function."""


def bound_of(op: Operation, operands: Sequence[Any], expected: Tensor, rows: Sequence[Rows | None]) -> Tensor:
    """How far each element of a node's result may be from `expected`; in steps, if the result is quantised.

    `operands` are numbers, and `rows` says what is uncertain of those that are quantised at run time. `expected` is the
    result in fp64, a quantised one in steps that are not rounded.
    """
    element = element_type(op.results[0])
    if isinstance(element, UniformType):
        return STEP + quotient_error(op, operands, element, expected) + through_weights(op, rows, operands, element)
    unit, least = UNITS.get(type(element), UNIT), SMALLEST.get(type(element), 0.0)
    magnitude = finite(expected.abs())
    sums = magnitudes(op, operands, rows) if is_sum(op) else None
    found = through_unrounded(op, operands, expected, sums, HALF_UNITS)
    if is_exact(op):
        # Bounds and padding are rounded, and numbers in another type.
        return found + 2 * unit * magnitude + least
    found = found + ROUNDINGS * unit * magnitude + least + through_weights(op, rows, operands, None)
    if sums is not None:
        adding = unit if unit > UNIT and adds_up_shortly(op) else UNIT
        return found + of_places(op, operands) + roundings(op, terms(op, operands)) * adding * sums
    if isinstance(op, xnnpack.UnaryOp | xnnpack.BinaryOp) and op.kind.data in ARITHMETIC:
        return found
    return found + FUNCTION * unit * largest(magnitude) + moved(op, operands, expected, FUNCTION * unit)


def is_exact(op: Operation) -> bool:
    """Whether a node picks elements, or computes what no rounding changes."""
    if movement_of(op) is not None or isinstance(op, xnnpack.ClampOp | xnnpack.ArgMaxPooling2dOp):
        return True
    if isinstance(op, xnnpack.ConvertOp):
        return not isinstance(element_type(op.input), UniformType)
    return isinstance(op, xnnpack.UnaryOp | xnnpack.BinaryOp | xnnpack.StaticReduceOp) and op.kind.data in EXACT


def is_sum(op: Operation) -> bool:
    """Whether a node adds up products."""
    return isinstance(
        op,
        WeightedOp
        | xnnpack.BatchMatrixMultiplyOp
        | xnnpack.AveragePooling2dOp
        | xnnpack.GlobalAveragePooling2dOp
        | xnnpack.StaticReduceOp
        | xnnpack.StaticResizeBilinear2dOp,
    )


def roundings(op: Operation, count: int) -> float:
    """How many units of the sum of magnitudes so many terms may be off, added up one behind the other.

    A sum without weights may be of equal terms, such as a long image of one colour, which are all rounded in the same
    direction: then only the bound of the worst case holds. Source: Higham, "Accuracy and Stability", equation (4.4).
    """
    if isinstance(op, xnnpack.GlobalAveragePooling2dOp | xnnpack.AveragePooling2dOp | xnnpack.StaticReduceOp):
        return float(count)
    return LIKELY * math.sqrt(count)


def of_places(op: Operation, operands: Sequence[Tensor]) -> Tensor:
    """How far a resized image may be for the places of its pixels, which are rounded in fp32, in each direction.

    What they are off, so are the weights of neighbouring pixels (`src/indirection.c`).
    """
    if not isinstance(op, xnnpack.StaticResizeBilinear2dOp):
        return torch.zeros(())
    image = finite(operands[0].abs()).movedim(-1, 1)
    around = torch.nn.functional.max_pool2d(image, 3, 1, 1).movedim(1, -1)
    off = ROUNDINGS * UNIT * (image.shape[-1] + image.shape[-2])
    return 2 * off * evaluate(op, [around])[0]


def adds_up_shortly(op: Operation) -> bool:
    """Whether a node on a short type adds up in it, not in fp32, as the names of XNNPACK's kernels say."""
    if isinstance(op, xnnpack.GlobalAveragePooling2dOp | xnnpack.StaticReduceOp):
        return False
    windows = xnnpack.DepthwiseConv2dOp | xnnpack.AveragePooling2dOp | xnnpack.StaticResizeBilinear2dOp
    return isinstance(op, windows) or is_depthwise(op) or adds_in_half()


def is_depthwise(op: Operation) -> bool:
    """Whether XNNPACK takes a depthwise kernel for a convolution (`select_microkernel_type`, `convolution-nhwc.c`)."""
    return isinstance(op, xnnpack.Conv2dOp) and op.group_input_channels == op.group_output_channels == 1


def terms(op: Operation, operands: Sequence[Tensor]) -> int:
    """How many products an element of the result is the sum of."""
    match op:
        case WeightedOp():
            return operands[1].numel() // operands[1].shape[op.channel_axis] + 1
        case xnnpack.BatchMatrixMultiplyOp():
            return operands[0].shape[-1]
        case xnnpack.AveragePooling2dOp():
            return math.prod(ints(op.kernel))
        case xnnpack.StaticResizeBilinear2dOp():
            return 4
        case xnnpack.StaticReduceOp():
            return math.prod(operands[0].shape[axis] for axis in ints(op.axes))
        case _:
            return math.prod(operands[0].shape[-3:-1])


def magnitudes(op: Operation, operands: Sequence[Tensor], rows: Sequence[Rows | None]) -> Tensor:
    """The sum of the magnitudes of the products, without the bounds that the node's result is held to.

    Products with zero points, where there are any, are added up by themselves.
    """
    taken = [finite(each.abs()) for each in operands]
    taken = [each if row is None else each + row.reach for each, row in zip(taken, rows, strict=True)]
    return unbounded(op, [each.float() for each in taken]).double()


def unbounded(op: Operation, operands: Sequence[Tensor]) -> Tensor:
    """What a node computes before it holds the result to its bounds."""
    plain = op.clone()
    if isinstance(op, BoundedOp):
        for name in ("output_min", "output_max"):
            plain.properties.pop(name, None)
    result = evaluate(plain, operands)[0]
    plain.erase()
    return result


def moved(op: Operation, operands: Sequence[Tensor], expected: Tensor, by: float) -> Tensor:
    """How far the result moves if the operands do, relative to their magnitudes."""
    ends = [evaluate(op, [each * (1 + sign * by) for each in operands])[0] for sign in (-1, 1)]
    return torch.maximum(*(finite((end - expected).abs()) for end in ends))


def through_weights(
    op: Operation, rows: Sequence[Rows | None], operands: Sequence[Tensor], element: UniformType | None
) -> Tensor:
    """How far a result may move with an operand that is quantised at run time."""
    if not rows or rows[0] is None:
        return torch.zeros(())
    rest = [each.abs().float() for each in operands[1:2]]
    found = unbounded(op, [rows[0].loose.float(), *rest]).double()
    return found if element is None else found / parameters(element, found.shape)[0]


def quotient_error(op: Operation, operands: Sequence[Tensor], element: UniformType, expected: Tensor) -> Tensor:
    """By how many steps the quotient of a result and its scale may be off before it is rounded."""
    base = torch.tensor(ROUNDINGS * UNIT * INTEGERS, dtype=torch.float64)
    scale, zero_point = parameters(element, expected.shape)
    steps = (expected - zero_point).abs()
    of_operands = [element_type(each) for each in op.operands]
    match op:
        case xnnpack.ConvertOp() if not isinstance(of_operands[0], UniformType):
            # The reciprocal of the scale is rounded to the operand's type, and so is the operand.
            return base + 2 * UNITS.get(type(of_operands[0]), UNIT) * steps
        case xnnpack.ConvertOp() | xnnpack.LeakyReluOp():
            taken, _ = parameters(_uniform(op.operands[0]), operands[0].shape)
            return base + 2.0 ** -(RESCALE_BITS + 1) * finite((operands[0] / taken).abs())
        case xnnpack.BinaryOp() if op.kind.data in ("add", "subtract"):
            scales = [
                parameters(_uniform(each), value.shape)[0] for each, value in zip(op.operands, operands, strict=True)
            ]
            exponent = math.floor(math.log2(max(float((each / scale).max()) for each in scales)))
            integers = sum(
                ((value / each).abs() for each, value in zip(scales, operands, strict=True)), torch.zeros(())
            )
            return base + 2.0 ** (exponent - SUM_BITS - 1) * integers
        case xnnpack.StaticResizeBilinear2dOp():
            return base + 2 * 2.0 ** -(PIXEL_BITS + 1) * INTEGERS
        case _ if is_exact(op) or is_sum(op) or isinstance(op, xnnpack.BinaryOp):
            return base
        case _:
            return base + TABLE


def of_portable(expected: Tensor, result: Attribute) -> Tensor:
    """How far each element of a result of this type may be that a kernel outside of delegates computes."""
    if not expected.is_floating_point() or not isinstance(result, TensorType):
        return torch.zeros(())
    element = result.element_type
    if isinstance(element, IntegerType):
        return torch.tensor(STEP + ROUNDINGS * UNIT * INTEGERS)
    relative = PORTABLE + PORTABLE_SHORT * UNITS.get(type(element), 0.0)
    return torch.tensor(relative * largest(finite(expected.abs())), dtype=torch.float64)


def picks_alike(op: Operation, operand: Any, one: Tensor, other: Tensor) -> bool:
    """Whether two results of an op are indices of equal elements: ATen leaves open which of them come first.

    It does so where it sorts, and says "the first" where it looks for one element.
    """
    if not isinstance(op, edge.TopkOp | edge.SortOp) or one.is_floating_point() or not isinstance(operand, Tensor):
        return False
    if not operand.dim():
        return bool((one == other).all())
    size = operand.shape[op.dim]
    if not bool(((one >= 0) & (one < size)).all()):
        return False
    rows = one.movedim(op.dim, -1).reshape(-1, one.shape[op.dim])
    if any(len(set(row)) < len(row) for row in rows.tolist()):
        return False
    return bool((operand.gather(op.dim, one.long()) == operand.gather(op.dim, other.long())).all())


def _uniform(value: SSAValue) -> UniformType:
    element = element_type(value)
    assert isinstance(element, UniformType)
    return element


def finite(value: Tensor) -> Tensor:
    """A tensor in fp64, with the largest numbers of fp32 where it has infinite ones, and 0 for none."""
    limit = torch.finfo(torch.float32).max
    return torch.nan_to_num(value.double(), nan=0.0, posinf=limit, neginf=-limit)


def largest(value: Tensor) -> float:
    """The largest element; 0 of an empty tensor."""
    return float(value.max()) if value.numel() else 0.0
