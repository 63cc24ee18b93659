"""The table: whether a node has the same results on every processor, by its kind and element types.

A row was taken as exact for two reasons together. The sources of XNNPACK at commit 92a7ad501b compute it with integers,
with moves, or with single additions, subtractions, products, quotients and roundings to integers, which IEEE 754
defines to the bit; and `bench/bit_exact.py` found no difference on any processor that it knows. For the others the
reason is what the sources do. No result of a NaN counts: processors give it other bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, i32

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.interfaces import movement_of


@dataclass(frozen=True)
class Inexact:
    """Why a node's results differ from processor to processor, and what the user can do."""

    reason: str
    hint: str


QUANTIZE = "quantise the model to static int8 (--quantize=static), whose sums are exact"

ONE_SLOPE = "use leaky ReLUs of one slope in static int8 (--quantize=static), which are integers"

SUM_OF_PRODUCTS = Inexact(
    "it adds up products in fp32, rounding each product on processors without FMA, and in another order on some",
    QUANTIZE,
)
SUM = Inexact("it adds up fp32 numbers in as many parts as the processor's vectors have", QUANTIZE)
FUNCTION = Inexact(
    "processors approximate this function of fp32 numbers in different ways",
    "compute it between int8 numbers, as static quantisation does, where it is a table",
)
NUMBER = Inexact(
    "processors approximate this function of fp32 numbers in different ways", "compute it outside the model"
)
ZERO = Inexact(
    "of 0 and −0 in fp32, processors return one or the other",
    "quantise the model to static int8, where there is one zero",
)
SUBNORMAL = Inexact(
    "negative fp32 numbers too small to be normal (above −1.2e-38) pass unscaled with AVX-512, and become 0 elsewhere",
    ONE_SLOPE,
)
INTERPOLATION = Inexact("it adds up weighted fp32 numbers, with or without FMA", QUANTIZE)
HALF = Inexact(
    "numbers of 16 bits are computed in fp16 or in fp32, as the processor has it",
    "use fp32 around int8 (--quantize=static)",
)
RUN_TIME_SCALE = Inexact(
    "it multiplies by scales found at run time, with or without FMA", "use static quantisation (--quantize=static)"
)
UNSIGNED = Inexact(
    "XNNPACK's Arm kernels round sums of unsigned 8-bit products in another way", "quantise to signed integers"
)
PRODUCT = Inexact("XNNPACK's Arm kernels round products of 8-bit numbers in another way", "keep the op in float")
AVERAGE = Inexact(
    "it scales a sum and adds a fraction in fp32, with or without FMA", "export the model with images of one size"
)
UNKNOWN = Inexact("it is not known to give the same bits on every processor", QUANTIZE)
SLOPES = Inexact(UNKNOWN.reason, ONE_SLOPE)

EXACT_FLOAT = frozenset(
    {
        *("abs", "bankers_rounding", "ceiling", "floor", "sign", "square"),
        *("add", "copysign", "divide", "multiply", "squared_difference", "subtract"),
    }
)
"""Kinds of unary and binary nodes that are one rounding, or two one after the other."""

EXTREMES = frozenset({"maximum", "minimum"})

EXACT_8_BIT = frozenset({"add", "subtract"})
"""Kinds of binary nodes that compute with integers alone on signed 8-bit numbers."""


def inexact(node: xnnpack.NodeOp) -> Inexact | None:
    """Why a node's results differ from processor to processor; None if they are the same."""
    elements = [element_type(value) for value in (*node.operands, *node.results)]
    if any(isinstance(each, xnnpack.DynamicType) for each in elements):
        return RUN_TIME_SCALE
    quantized = [each for each in elements if isinstance(each, UniformType)]
    if any(not isinstance(each, UniformType | Float32Type) and each != i32 for each in elements):
        return HALF
    if isinstance(node, xnnpack.ConvertOp | xnnpack.CopyOp) or all(each == i32 for each in elements):
        return None
    if quantized:
        return _inexact_8_bit(node, quantized)
    return _inexact_float(node)


def _inexact_8_bit(node: xnnpack.NodeOp, elements: list[UniformType]) -> Inexact | None:
    """For a node on integers with scales."""
    if movement_of(node) is not None:
        return None
    if not all(isinstance(element_type(value), UniformType) for value in (*node.operands, *node.results)):
        return RUN_TIME_SCALE
    unsigned = any(not each.is_signed for each in elements)
    match node:
        case xnnpack.WeightedOp():
            if unsigned:
                return UNSIGNED
            return UNKNOWN if any(each.storage.width.data == 4 for each in elements) else None
        case xnnpack.BinaryOp():
            if node.kind.data in EXACT_8_BIT:
                return None
            return {"multiply": PRODUCT, "prelu": SLOPES}.get(node.kind.data, UNKNOWN)
        case xnnpack.ClampOp() | xnnpack.LeakyReluOp():
            return None
        case xnnpack.GlobalAveragePooling2dOp():
            return AVERAGE
        case xnnpack.UnaryOp() | xnnpack.EluOp():
            return FUNCTION
        case _:
            return UNKNOWN


def _inexact_float(node: xnnpack.NodeOp) -> Inexact | None:
    """For a node on fp32 numbers."""
    match node:
        case xnnpack.WeightedOp() | xnnpack.BatchMatrixMultiplyOp():
            return SUM_OF_PRODUCTS
        case xnnpack.SoftmaxOp() | xnnpack.AveragePooling2dOp() | xnnpack.GlobalAveragePooling2dOp():
            return SUM
        case xnnpack.StaticReduceOp():
            return ZERO if node.kind.data in ("max", "min") else SUM
        case xnnpack.StaticResizeBilinear2dOp():
            return INTERPOLATION
        case xnnpack.MaxPooling2dOp() | xnnpack.ArgMaxPooling2dOp() | xnnpack.ClampOp():
            return ZERO
        case xnnpack.UnaryOp():
            if node.kind.data == "negate":
                return ZERO
            return None if node.kind.data in EXACT_FLOAT else FUNCTION
        case xnnpack.BinaryOp():
            return _inexact_binary(node)
        case xnnpack.EluOp():
            return FUNCTION
        case xnnpack.LeakyReluOp():
            return SUBNORMAL
        case _:
            return None if movement_of(node) is not None else UNKNOWN


def _inexact_binary(node: xnnpack.BinaryOp) -> Inexact | None:
    if node.is_bounded or node.kind.data in EXTREMES:
        return ZERO
    if node.kind.data == "prelu":
        return SUBNORMAL
    return None if node.kind.data in EXACT_FLOAT else NUMBER
