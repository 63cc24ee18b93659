"""How large the integers of a program can be, where that follows from its constants and the bounds of its sizes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i1, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, is_integral
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.sizes import SymbolicSizes

LARGE = 2**23
"""From here on fp32 does not keep integers and all sums of two apart."""

MOVES = frozenset(
    f"edge.{name}"
    for name in (
        "view", "_unsafe_view", "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "expand", "permute",
        "transpose.int", "t", "slice.Tensor", "select.int", "clone", "alias", "detach", "contiguous", "cat", "repeat",
    )
)  # fmt: skip
"""Ops whose result has elements of their operands, of whatever type."""


TensorSum = edge.AddTensorOp | edge.SubTensorOp
SumWithNumber = edge.AddScalarOp | edge.SubScalarOp | edge.RsubScalarOp
Arithmetic = TensorSum | SumWithNumber | edge.MulTensorOp | edge.MulScalarOp | edge.NegOp | edge.AbsOp
"""Ops on integers whose result is bounded by their operands."""


def result_magnitude(op: Arithmetic, sizes: Sequence[int]) -> int | None:
    """The largest absolute value of an op's result, by those of its operands; None if a number among its arguments is
    known at run time alone, or is no integer."""
    alpha = op.alpha if isinstance(op, TensorSum | SumWithNumber) else 1
    number = op.other if isinstance(op, SumWithNumber | edge.MulScalarOp) else 1
    if not isinstance(alpha, int) or not isinstance(number, int):
        return None
    match op:
        case edge.AddTensorOp() | edge.SubTensorOp():
            return sizes[0] + sizes[1] * abs(alpha)
        case edge.RsubScalarOp():
            return sizes[0] * abs(alpha) + abs(number)
        case edge.AddScalarOp() | edge.SubScalarOp():
            return sizes[0] + abs(number) * abs(alpha)
        case edge.MulTensorOp():
            return sizes[0] * sizes[1]
        case edge.MulScalarOp() | edge.NegOp() | edge.AbsOp():
            return sizes[0] * abs(number)


def magnitudes(block: Block, ctx: XirContext, sizes: SymbolicSizes) -> dict[SSAValue, int]:
    """The largest absolute value of integers and booleans, for values where it is below `LARGE`."""
    found: dict[SSAValue, int] = {}
    for value in block.args:
        if is_boolean(value):
            found[value] = 1
    for op in block.ops:
        if len(op.results) == 1 and (size := magnitude(op, found, ctx, sizes)) is not None and size < LARGE:
            found[op.results[0]] = size
    return found


def is_boolean(value: SSAValue) -> bool:
    """Whether a value is a tensor of booleans."""
    return isinstance(value.type, TensorType) and value.type.element_type == i1


def magnitude(op: Operation, known: dict[SSAValue, int], ctx: XirContext, sizes: SymbolicSizes) -> int | None:
    """The largest absolute value of an op's result; None if it is no integer, or not known."""
    result = op.results[0]
    if is_boolean(result):
        return 1
    if not isinstance(result.type, TensorType) or not is_integral(result.type.element_type):
        return None
    if isinstance(op, edge.ConstantOp):
        array = constant_array(op.value, ctx, op)
        return int(max(abs(int(array.min())), abs(int(array.max())))) if array.size else None
    if not isinstance(op, edge.EdgeOp):
        return None
    if isinstance(op, edge.ArangeStartStepOp):
        return arange_magnitude(op, sizes)
    operands = op.tensor_operands
    if not operands or any(value not in known for value in operands):
        return None
    below = [known[value] for value in operands]
    if op.name in MOVES or (op.name == "edge._to_copy" and element_of(result) in (i32, i64)):
        return max(below)
    if not isinstance(op, Arithmetic) or element_of(result) not in (i32, i64):
        return None
    return result_magnitude(op, below)


def arange_magnitude(op: edge.ArangeStartStepOp, sizes: SymbolicSizes) -> int | None:
    """The largest absolute value that is counted to, or from."""
    largest = 0
    for number in (op.start, op.end, op.step):
        if isinstance(number, SSAValue):
            number = sizes.computed(number)
        if isinstance(number, SymbolicSize):
            number = sizes.limit(number)
        if not isinstance(number, int):
            return None
        largest = max(largest, abs(number))
    return largest
