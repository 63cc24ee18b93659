"""Functions of 8-bit numbers whose results in 8 bits are the same however processors approximate the function.

A processor's exp differs from another's by some roundings. Where the operand is one of 256 integers, and the result
becomes one, each of the 256 results can be looked at: if none is so close to a tie between two integers that these
roundings decide, all processors give the same integers, by a table or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import erf

import numpy as np
from xdsl.ir import SSAValue

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.transforms.analysis.static_tensor import dequantized, quantized, range_of

Array = np.ndarray
Interval = tuple[Array, Array]
"""The least and the largest fp32 number that a processor may have, for each of the 256 operands."""

Function = Callable[..., Array]

EXACT: dict[str, Function] = {
    "abs": np.abs,
    "bankers_rounding": np.rint,
    "ceiling": np.ceil,
    "floor": np.floor,
    "negate": np.negative,
    "sign": np.sign,
    "square": np.square,
    "add": np.add,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "subtract": np.subtract,
}
"""Kinds that are one operation of fp32 numbers; between integers it does not matter which zero an extreme is."""

EPSILON = 2.0**-23

APPROXIMATED: dict[str, tuple[Function, float, float]] = {
    "approxgelu": (
        lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        10 * EPSILON,
        5 * EPSILON,
    ),
    "cosine": (np.cos, 10 * EPSILON, 10 * EPSILON),
    "exp": (np.exp, 2 * EPSILON, 6 * EPSILON),
    "gelu": (lambda x: x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2))), 10 * EPSILON, 5 * EPSILON),
    "hardswish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, 4 * EPSILON, 2 * EPSILON),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), EPSILON, EPSILON),
    "sine": (np.sin, 10 * EPSILON, 10 * EPSILON),
    "tanh": (np.tanh, EPSILON, 4 * EPSILON),
}
"""Unary kinds in fp64, and how far a processor's result may be off: absolutely or relative to the result, whichever is
more. It is what XNNPACK's tests allow all its kernels (test/unary-ops.h at commit 92a7ad501b), except that a hard swish
has three roundings and a constant's, of which the absolute ones are of numbers up to 3."""

ELU_OFF = (5.0e-6, 1.0e-5)
"""The same of `elu`."""


class NotDecidedError(Exception):
    """A function whose integers a processor's approximation may decide; the message completes a sentence."""


def check_function(chain: Sequence[xnnpack.NodeOp], ctx: XirContext) -> None:
    """NotDecidedError if the integers that the last node writes depend on the processor.

    The first node reads 8-bit numbers, and all of them are functions of these and of constants.
    """
    (source,) = {value for value in chain[0].operands if not isinstance(value.owner, xnnpack.ConstantOp)}
    element = element_type(source)
    assert isinstance(element, UniformType)
    low, high = range_of(element)
    numbers = dequantized(np.arange(low, high + 1), element)
    known: dict[SSAValue, Interval] = {source: (numbers, numbers)}
    # XNNPACK's own table adds the zero point before it rounds, with or without FMA; a conversion does not.
    slack = EPSILON if any(isinstance(node, xnnpack.UnaryOp | xnnpack.EluOp) for node in chain) else 0.0
    for node in chain:
        operands = [known[value] if value in known else _constant(value, ctx) for value in node.operands]
        with np.errstate(all="ignore"):
            known[node.results[0]] = _stored(node, _computed(node, operands), slack)


def _computed(node: xnnpack.NodeOp, operands: Sequence[Interval]) -> Interval:
    """What the node makes of its operands, in fp32."""
    if isinstance(node, xnnpack.UnaryOp) and node.kind.data in APPROXIMATED:
        function, absolute, relative = APPROXIMATED[node.kind.data]
        return _approximated(function, operands, absolute, relative)
    if isinstance(node, xnnpack.EluOp):
        alpha = node.alpha.value.data
        return _approximated(lambda x: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))), operands, *ELU_OFF)
    low, high = _ends(_function(node)(*each) for each in product(*operands))
    if isinstance(node, xnnpack.BoundedOp):
        least, most = map(np.float32, node.bounds)
        low, high = np.clip(low, least, most), np.clip(high, least, most)
    return low, high


def _approximated(function: Function, operands: Sequence[Interval], absolute: float, relative: float) -> Interval:
    low, high = _ends(function(each.astype(np.float64)) for each in operands[0])
    # Two units more: these results are rounded to fp32, and an end's own error is not counted.
    off = np.maximum(absolute, relative * np.maximum(np.abs(low), np.abs(high))) + 2.0**-40
    return (low - off).astype(np.float32), (high + off).astype(np.float32)


def _function(node: xnnpack.NodeOp) -> Function:
    """A node's function, in the type of its operands."""
    match node:
        case xnnpack.UnaryOp() | xnnpack.BinaryOp() if node.kind.data in EXACT:
            return EXACT[node.kind.data]
        case xnnpack.ConvertOp() | xnnpack.CopyOp() | xnnpack.ClampOp():
            return lambda x: x
        case xnnpack.LeakyReluOp():
            slope = np.float32(node.negative_slope.value.data)
            return lambda x: np.where(x > 0, x, slope * x)
        case _:
            raise NotDecidedError(f"{node.name} is none that can be looked at")


def _stored(node: xnnpack.NodeOp, computed: Interval, slack: float) -> Interval:
    """A result as its type stores it; its quotient by the scale may be off by `slack` of itself and the zero point."""
    low, high = computed
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise NotDecidedError("not all of its results are finite")
    element = element_type(node.results[0])
    if not isinstance(element, UniformType):
        return computed
    off = slack * (np.maximum(np.abs(low), np.abs(high)) + np.float32(abs(element.zero_point) * element.scale))
    first, last = (quantized(each, element, range_of(element)) for each in (low - off, high + off))
    if (first != last).any():
        at = int(np.flatnonzero(first != last)[0])
        raise NotDecidedError(f"it gives {first[at]} or {last[at]} for operand {at} of 256")
    numbers = dequantized(first, element)
    return numbers, numbers


def _ends(results: Iterable[Array]) -> Interval:
    """The least and the largest of arrays, element by element."""
    arrays = list(results)
    return np.minimum.reduce(arrays), np.maximum.reduce(arrays)


def _constant(value: SSAValue, ctx: XirContext) -> Interval:
    assert isinstance(value.owner, xnnpack.ConstantOp)
    array, element = storage_array(value.owner.value, ctx, value.owner), element_type(value)
    numbers = dequantized(array, element) if isinstance(element, UniformType) else array
    return numbers.reshape(-1), numbers.reshape(-1)
