"""The elementwise nodes, a row each.

**Adding an elementwise op is adding a row here.** From a row come the kind in the dialect, the union member in
`xnnpack.fbs`, the C++ dispatch to XNNPACK's operator, the legalisation of the ATen ops it names, and its line in the
reference page. `make generate` rewrites the generated files.

Kinds are `enum xnn_unary_operator` and `enum xnn_binary_operator` of XNNPACK's `include/xnnpack.h`, names in
profiles those of its `src/operator-utils.c` and `src/subgraph.c`, which rewrites some nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.utils.str_enum import StrEnum


@dataclass(frozen=True)
class Kind:
    """One elementwise node.

    `kind` is XNNPACK's operator name without its prefix; `member` and `tag` name it on the wire; `edge` lists the edge
    ops that mean exactly this, and so become it. A `quantized` binary kind has vectorised kernels on 8-bit integers,
    each tensor with its own scale; every unary kind has them, as a look-up in 256 entries. `elements` says which types,
    quantised ones apart, XNNPACK computes it on: the floating-point ones, 32-bit integers, or both ("number").
    `operators` are those that XNNPACK may make of the node, as its profiles spell them; none given is the one with the
    kind's own name.
    """

    kind: str
    member: str
    tag: int
    edge: tuple[str, ...]
    summary: str
    bounded: bool = False
    quantized: bool = False
    elements: Literal["float", "integer", "number"] = "float"
    operators: tuple[str, ...] = ()

    @property
    def profiled(self) -> tuple[str, ...]:
        """The names under which the node may show in XNNPACK's profile."""
        return self.operators or (self.kind.replace("_", " ").title(),)


UNARY = (
    Kind("abs", "XNNAbs", 30, ("edge.abs",), "|x|", elements="number"),
    Kind("approxgelu", "XNNApproxGelu", 129, (), "x·Φ(x), by the hyperbolic tangent", operators=("ApproxGELU",)),
    # XNNPACK spells it so.
    Kind(
        "bankers_rounding",
        "XNNBankersRounding",
        128,
        (),
        "the nearest integer to x, ties to even",
        operators=("Bankders Rounding",),
    ),
    Kind("bitwise_not", "XNNBitwiseNot", 131, ("edge.bitwise_not",), "all bits of x flipped", elements="integer"),
    Kind("ceiling", "XNNCeiling", 23, ("edge.ceil",), "the least integer not below x"),
    Kind("cosine", "XNNCos", 47, ("edge.cos",), "cos(x), x in radians"),
    Kind("exp", "XNNExp", 44, ("edge.exp",), "e^x"),
    Kind("floor", "XNNFloor", 17, ("edge.floor",), "the greatest integer not above x"),
    Kind("gelu", "XNNGelu", 42, (), "x·Φ(x), by the error function", operators=("GELU",)),
    Kind("hardswish", "XNNHardswish", 24, ("edge.hardswish",), "x·clamp(x + 3, 0, 6) / 6", operators=("HardSwish",)),
    Kind("log", "XNNLog", 41, ("edge.log",), "the natural logarithm of x"),
    Kind("negate", "XNNNegate", 27, ("edge.neg",), "−x", elements="number"),
    Kind("reciprocal_square_root", "XNNReciprocalSquareRoot", 40, ("edge.rsqrt",), "1 / √x"),
    Kind("sigmoid", "XNNSigmoid", 4, ("edge.sigmoid",), "1 / (1 + e^−x)"),
    Kind("sign", "XNNSign", 130, (), "−1, 0 or 1", elements="number"),
    Kind("sine", "XNNSin", 45, ("edge.sin",), "sin(x), x in radians"),
    Kind("square", "XNNSquare", 28, ("edge.square",), "x²", elements="number"),
    Kind("square_root", "XNNSquareRoot", 22, ("edge.sqrt",), "√x"),
    Kind("tanh", "XNNTanh", 43, ("edge.tanh",), "the hyperbolic tangent of x", operators=("TanH",)),
)

# Integers have no quotient, whose kernel traps for −2^31 / −1, and no extremes: of one with a static number XNNPACK
# makes a clamp, whose other bound is infinite, which no integer is (`optimize_common_subgraphs_min_max_to_clamp`).
BINARY = (
    Kind("add", "XNNAdd", 1, (), "lhs + rhs", bounded=True, quantized=True, elements="number"),
    Kind("atan2", "XNNAtan2", 134, ("edge.atan2",), "the angle of the point (rhs, lhs)", operators=("ATan2",)),
    Kind("bitwise_and", "XNNBitwiseAnd", 136, ("edge.bitwise_and.Tensor",), "lhs & rhs", elements="integer"),
    Kind("bitwise_or", "XNNBitwiseOr", 137, ("edge.bitwise_or.Tensor",), "lhs | rhs", elements="integer"),
    Kind("bitwise_xor", "XNNBitwiseXor", 138, ("edge.bitwise_xor.Tensor",), "lhs ^ rhs", elements="integer"),
    Kind("copysign", "XNNCopysign", 145, ("edge.copysign.Tensor",), "|lhs| with the sign of rhs"),
    Kind("divide", "XNNDiv", 8, ("edge.div.Tensor",), "lhs / rhs", bounded=True),
    Kind(
        "maximum",
        "XNNMaximum",
        26,
        ("edge.maximum",),
        "the larger of lhs and rhs",
        operators=("Maximum", "Clamp", "Copy"),
    ),
    Kind(
        "minimum",
        "XNNMinimum",
        12,
        ("edge.minimum",),
        "the smaller of lhs and rhs",
        operators=("Minimum", "Clamp", "Copy"),
    ),
    Kind("modulus", "XNNModulus", 135, (), "lhs − rhs·(lhs / rhs rounded towards zero), and 0 where rhs is 0"),
    Kind(
        "multiply", "XNNMultiply", 15, ("edge.mul.Tensor",), "lhs · rhs", True, True, "number", ("Multiply", "Square")
    ),
    Kind("pow", "XNNPow", 133, (), "lhs to the power rhs", operators=("Power",)),
    Kind("prelu", "XNNPReLU", 31, (), "lhs where it is positive, else lhs · rhs", quantized=True, operators=("PReLU",)),
    Kind("squared_difference", "XNNSquaredDifference", 132, (), "(lhs − rhs)²"),
    Kind("subtract", "XNNSubtract", 16, (), "lhs − rhs", bounded=True, quantized=True, elements="number"),
)

# "Normalize" is XNNPACK's name for a sum of squares.
REDUCE = (
    Kind("max", "XNNReduceMax", 139, (), "the largest", operators=("Reduce Max",)),
    Kind("mean", "XNNReduceMean", 140, (), "the mean", operators=("Mean", "Mean Squared")),
    Kind("mean_squared", "XNNReduceMeanSquared", 141, (), "the mean of the squares"),
    Kind("min", "XNNReduceMin", 142, (), "the smallest", operators=("Reduce Min",)),
    Kind("sum", "XNNReduceSum", 143, (), "the sum", operators=("Sum", "Normalize")),
    Kind("sum_squared", "XNNReduceSumSquared", 144, (), "the sum of the squares", operators=("Normalize",)),
)
"""What a reduction makes of the elements that it sees; operators are of `enum xnn_reduce_operator`."""


class UnaryKind(StrEnum):
    """The kinds of `xnnpack.unary`."""

    vars().update({row.kind: row.kind for row in UNARY})


class BinaryKind(StrEnum):
    """The kinds of `xnnpack.binary`."""

    vars().update({row.kind: row.kind for row in BINARY})


class ReduceKind(StrEnum):
    """The kinds of `xnnpack.static_reduce`."""

    vars().update({row.kind: row.kind for row in REDUCE})


BOUNDED_BINARY = frozenset(row.kind for row in BINARY if row.bounded)
"""Binary kinds whose node clamps its output."""

QUANTIZED_BINARY = frozenset(row.kind for row in BINARY if row.quantized)
"""Binary kinds that compute on 8-bit integers."""
