"""Values that XNNPACK takes for 0 or 1 everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod

import numpy as np
from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, rank_of, shape_of, u32s
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.transforms.analysis.static_tensor import dequantized
from xir.transforms.xnnpack.known_faults.fault import KnownFault, Site, apart, reshaped, source_of

Number = float | None
"""0.0, 1.0, or None: no such value."""

KEEP_BOTH = frozenset("abs bankers_rounding ceiling floor sign square square_root max mean mean_squared min".split())
KEEP_ZERO = frozenset("hardswish negate reciprocal_square_root sine sum sum_squared tanh".split())
MOVES = frozenset(
    "convert copy clamp elu global_average_pooling2d leaky_relu static_reshape static_resize_bilinear2d static_slice"
    " static_transpose".split()
)
"""Nodes whose result XNNPACK takes for the number of the operand; of a clamp only if that is within its bounds."""


def either(a: Number, b: Number, wanted: Number) -> Number:
    """`wanted` if an operand has it."""
    return wanted if wanted in (a, b) else None


def same_as(values: Mapping[tuple[float, float], float]) -> Callable[[Number, Number], Number]:
    """What `values` says of both numbers."""
    return lambda a, b: None if a is None or b is None else values.get((a, b))


def power(a: Number, b: Number) -> Number:
    """1 for the exponent 0, else the base."""
    return 1.0 if b == 0.0 else a


BINARY: Mapping[str, Callable[[Number, Number], Number]] = {
    "add": same_as({(0, 0): 0.0, (0, 1): 1.0, (1, 0): 1.0}),
    "subtract": same_as({(0, 0): 0.0, (1, 0): 1.0, (1, 1): 0.0}),
    "multiply": lambda a, b: 0.0 if either(a, b, 0.0) == 0.0 else same_as({(1, 1): 1.0})(a, b),
    "divide": lambda a, b: 0.0 if a == 0.0 else same_as({(1, 1): 1.0})(a, b),
    "maximum": same_as({(0, 0): 0.0, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 1.0}),
    "minimum": same_as({(0, 0): 0.0, (0, 1): 0.0, (1, 0): 0.0, (1, 1): 1.0}),
    "squared_difference": same_as({(0, 0): 0.0, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 0.0}),
    "modulus": lambda a, b: a,
    "prelu": lambda a, b: a,
    "copysign": lambda a, b: None if b is None else a,
    "pow": power,
}
"""What a node of two operands makes of their numbers (`propagate_constants`)."""


def sites(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[Site]:
    """Maxima and minima with a computed operand that XNNPACK takes for a number. The rewrite inserts a copy.

    The copy is a padding by nothing, which ends XNNPACK's knowledge of the number.
    """
    extremes = [node for node in graph.body.block.ops if is_extreme(node)]
    if not extremes:
        return
    numbers = numbers_of(graph, ctx)
    for node in extremes:
        for value in dict.fromkeys(node.operands):
            if numbers.get(source_of(value)) is not None and not isinstance(value.owner, xnnpack.ConstantOp):
                yield Site(node, lambda node=node, value=value: apart(node, value, padded_by_nothing(value)))


def is_extreme(node: Operation) -> bool:
    """Whether a node is the larger or the smaller of two operands."""
    return isinstance(node, xnnpack.BinaryOp) and node.kind.data in ("maximum", "minimum")


def padded_by_nothing(value: SSAValue) -> xnnpack.NodeOp:
    """A node that copies a value."""
    if not (rank := rank_of(value)):
        return reshaped(value, ())
    none = u32s([0] * rank)
    properties = {"pre_paddings": none, "post_paddings": none}
    return xnnpack.StaticConstantPadOp.create(operands=[value], properties=properties, result_types=[value.type])


def numbers_of(graph: xnnpack.SubgraphOp, ctx: XirContext) -> dict[SSAValue, float]:
    """The values that XNNPACK takes for 0 or 1 in each element."""
    numbers: dict[SSAValue, float] = {}
    for op in graph.body.block.ops:
        number = number_of_constant(op, ctx) if isinstance(op, xnnpack.ConstantOp) else number_of_node(op, numbers)
        if number is not None:
            numbers[op.results[0]] = number
    return numbers


def number_of_constant(constant: xnnpack.ConstantOp, ctx: XirContext) -> Number:
    """0 or 1 if that is its one element, whatever its sign."""
    if prod(shape_of(constant.output)) != 1:
        return None
    try:
        array = storage_array(constant.elements, ctx, constant)
    except DiagnosticError:
        return None  # elsewhere
    element = element_type(constant.output)
    if isinstance(element, UniformType):
        array = dequantized(array, element)
    elif isinstance(element, BFloat16Type):
        array = (array.astype(np.uint32) << 16).view(np.float32)
    number = float(array.reshape(()))
    return abs(number) if number in (0.0, 1.0) else None


def number_of_node(op: Operation, numbers: Mapping[SSAValue, float]) -> Number:
    """What XNNPACK takes a node's result for, given what it takes its operands for."""
    if isinstance(op, xnnpack.BinaryOp):
        rule = BINARY.get(op.kind.data)
        return rule(numbers.get(op.lhs), numbers.get(op.rhs)) if rule else None
    if len(op.operands) != 1 or (number := numbers.get(op.operands[0])) is None:
        return None
    if isinstance(op, xnnpack.ClampOp):
        return number if op.bounds[0] <= number <= op.bounds[1] else None
    if op.name.removeprefix("xnnpack.") in MOVES:
        return number
    kind = str(op.kind.data) if isinstance(op, xnnpack.UnaryOp | xnnpack.StaticReduceOp) else None
    if kind in KEEP_BOTH or (kind in KEEP_ZERO and number == 0.0):
        return number
    if kind in ("exp", "cosine") and number == 0.0:
        return 1.0
    return 0.0 if kind == "log" and number == 1.0 else None


TAKEN_FOR_NUMBER = KnownFault(
    name="taken-for-number",
    place="src/subgraph.c, propagate_constants and optimize_common_subgraphs_min_max_to_clamp",
    wrong="it assumes one number for all elements of an operand, such as 0 for any product with 0, and turns "
    "the node into a clamp, which does not broadcast",
    smallest="""
func.func @forward(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = xnnpack.subgraph(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %c = xnnpack.constant dense<0.0> : tensor<1xf32>
    %d = xnnpack.binary multiply %a, %c : tensor<2xf32>, tensor<1xf32> -> tensor<2xf32>
    %e = xnnpack.unary reciprocal_square_root %d : tensor<2xf32> -> tensor<2xf32>
    %z = xnnpack.binary minimum %e, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    xnnpack.yield %z : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}
""",
    sites=sites,
)
