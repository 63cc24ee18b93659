"""The elementwise nodes, a row each.

**Adding an elementwise op is adding a row here.** From a row come the kind in the dialect, the union member in
`xnnpack.fbs`, the C++ dispatch to XNNPACK's operator, the legalisation of the ATen ops it names, and its line in the
reference page. `make generate` rewrites the generated files.

Operator names are `enum xnn_unary_operator` and `enum xnn_binary_operator` of XNNPACK's `include/xnnpack.h`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Kind:
    """One elementwise node.

    `kind` is XNNPACK's operator name without its prefix; `member` and `tag` name it on the wire; `edge` lists the edge
    ops that mean exactly this, and so become it. A `quantized` binary kind has vectorised kernels on 8-bit integers,
    each tensor with its own scale; every unary kind has them, as a look-up in 256 entries. `elements` says which types,
    quantised ones apart, XNNPACK computes it on: the floating-point ones, 32-bit integers, or both ("number").
    """

    kind: str
    member: str
    tag: int
    edge: tuple[str, ...]
    summary: str
    bounded: bool = False
    quantized: bool = False
    elements: Literal["float", "integer", "number"] = "float"


UNARY = (
    Kind("abs", "XNNAbs", 30, ("edge.abs",), "|x|", elements="number"),
    Kind("bankers_rounding", "XNNBankersRounding", 128, (), "the nearest integer to x, ties to even"),
    Kind("ceiling", "XNNCeiling", 23, ("edge.ceil",), "the least integer not below x"),
    Kind("cosine", "XNNCos", 47, ("edge.cos",), "cos(x), x in radians"),
    Kind("exp", "XNNExp", 44, ("edge.exp",), "e^x"),
    Kind("floor", "XNNFloor", 17, ("edge.floor",), "the greatest integer not above x"),
    Kind("gelu", "XNNGelu", 42, (), "x·Φ(x), by the error function"),
    Kind("hardswish", "XNNHardswish", 24, ("edge.hardswish",), "x·clamp(x + 3, 0, 6) / 6"),
    Kind("log", "XNNLog", 41, ("edge.log",), "the natural logarithm of x"),
    Kind("negate", "XNNNegate", 27, ("edge.neg",), "−x", elements="number"),
    Kind("reciprocal_square_root", "XNNReciprocalSquareRoot", 40, ("edge.rsqrt",), "1 / √x"),
    Kind("sigmoid", "XNNSigmoid", 4, ("edge.sigmoid",), "1 / (1 + e^−x)"),
    Kind("sine", "XNNSin", 45, ("edge.sin",), "sin(x), x in radians"),
    Kind("square", "XNNSquare", 28, ("edge.square",), "x²", elements="number"),
    Kind("square_root", "XNNSquareRoot", 22, ("edge.sqrt",), "√x"),
    Kind("tanh", "XNNTanh", 43, ("edge.tanh",), "the hyperbolic tangent of x"),
)

# Integers have no quotient, whose kernel traps for −2^31 / −1, and no extremes: of one with a static number XNNPACK
# makes a clamp, whose other bound is infinite, which no integer is (`optimize_common_subgraphs_min_max_to_clamp`).
BINARY = (
    Kind("add", "XNNAdd", 1, (), "lhs + rhs", bounded=True, quantized=True, elements="number"),
    Kind("divide", "XNNDiv", 8, ("edge.div.Tensor",), "lhs / rhs", bounded=True),
    Kind("maximum", "XNNMaximum", 26, ("edge.maximum",), "the larger of lhs and rhs"),
    Kind("minimum", "XNNMinimum", 12, ("edge.minimum",), "the smaller of lhs and rhs"),
    Kind(
        "multiply",
        "XNNMultiply",
        15,
        ("edge.mul.Tensor",),
        "lhs · rhs",
        bounded=True,
        quantized=True,
        elements="number",
    ),
    Kind("prelu", "XNNPReLU", 31, (), "lhs where it is positive, else lhs · rhs", quantized=True),
    Kind("subtract", "XNNSubtract", 16, (), "lhs − rhs", bounded=True, quantized=True, elements="number"),
)

BOUNDED_BINARY = frozenset(row.kind for row in BINARY if row.bounded)
"""Binary kinds whose node clamps its output."""

QUANTIZED_BINARY = frozenset(row.kind for row in BINARY if row.quantized)
"""Binary kinds that compute on 8-bit integers."""
