"""How small and how large the integers of a program can be, by its constants and the bounds of its sizes."""

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

Range = tuple[int, int]
"""The smallest and the largest number."""

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


def _scaled(range: Range, factor: int) -> Range:
    ends = range[0] * factor, range[1] * factor
    return min(ends), max(ends)


def _sum(first: Range, second: Range) -> Range:
    return first[0] + second[0], first[1] + second[1]


def _product(first: Range, second: Range) -> Range:
    ends = [a * b for a in first for b in second]
    return min(ends), max(ends)


TensorSum = edge.AddTensorOp | edge.SubTensorOp
SumWithNumber = edge.AddScalarOp | edge.SubScalarOp | edge.RsubScalarOp
Arithmetic = TensorSum | SumWithNumber | edge.MulTensorOp | edge.MulScalarOp | edge.NegOp | edge.AbsOp
"""Ops on integers whose result is bounded by their operands."""


def result_range(op: Arithmetic, ranges: Sequence[Range]) -> Range | None:
    """The range of an op's result, by those of its operands; None if a number among its arguments is known at run time
    alone, or is no integer."""
    alpha = op.alpha if isinstance(op, TensorSum | SumWithNumber) else 1
    number = op.other if isinstance(op, SumWithNumber | edge.MulScalarOp) else 1
    if not isinstance(alpha, int) or not isinstance(number, int):
        return None
    match op:
        case edge.AddTensorOp():
            return _sum(ranges[0], _scaled(ranges[1], alpha))
        case edge.SubTensorOp():
            return _sum(ranges[0], _scaled(ranges[1], -alpha))
        case edge.AddScalarOp():
            return _sum(ranges[0], (number * alpha, number * alpha))
        case edge.SubScalarOp():
            return _sum(ranges[0], (-number * alpha, -number * alpha))
        case edge.RsubScalarOp():
            return _sum((number, number), _scaled(ranges[0], -alpha))
        case edge.MulTensorOp():
            return _product(*ranges)
        case edge.MulScalarOp():
            return _scaled(ranges[0], number)
        case edge.NegOp():
            return _scaled(ranges[0], -1)
        case edge.AbsOp():
            return 0, max(map(abs, ranges[0]))


def integer_ranges(block: Block, ctx: XirContext, sizes: SymbolicSizes) -> dict[SSAValue, Range]:
    """The ranges of integers and booleans, for values that lie between −`LARGE` and `LARGE`."""
    found: dict[SSAValue, Range] = {value: (0, 1) for value in block.args if is_boolean(value)}
    for op in block.ops:
        known = range_of(op, found, ctx, sizes) if len(op.results) == 1 else None
        if known is not None and max(map(abs, known)) < LARGE:
            found[op.results[0]] = known
    return found


def is_boolean(value: SSAValue) -> bool:
    """Whether a value is a tensor of booleans."""
    return isinstance(value.type, TensorType) and value.type.element_type == i1


def range_of(op: Operation, known: dict[SSAValue, Range], ctx: XirContext, sizes: SymbolicSizes) -> Range | None:
    """The range of an op's result; None if it is no integer, or not known."""
    result = op.results[0]
    if is_boolean(result):
        return 0, 1
    if not isinstance(result.type, TensorType) or not is_integral(result.type.element_type):
        return None
    if isinstance(op, edge.ConstantOp):
        array = constant_array(op.value, ctx, op)
        return (int(array.min()), int(array.max())) if array.size else None
    if not isinstance(op, edge.EdgeOp) or element_of(result) not in (i32, i64):
        return None
    if isinstance(op, edge.ArangeStartStepOp):
        return counted(op, sizes)
    operands = op.tensor_operands
    if not operands or any(value not in known for value in operands):
        return None
    ranges = [known[value] for value in operands]
    if op.name in MOVES or op.name == "edge._to_copy":
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    if isinstance(op, edge.CumsumOp):
        count = largest_size(sizes, op.self, op.dim)
        return None if count is None else (min(ranges[0][0] * count, 0), max(ranges[0][1] * count, 0))
    return result_range(op, ranges) if isinstance(op, Arithmetic) else None


def largest_size(sizes: SymbolicSizes, value: SSAValue, dim: int) -> int | None:
    """The bound of a dimension, if it has one."""
    shape = sizes.known(value)
    return sizes.limit(shape[dim]) if shape else 1


def counted(op: edge.ArangeStartStepOp, sizes: SymbolicSizes) -> Range | None:
    """The range of what is counted from one number to another."""
    ends: list[int] = []
    for number in (op.start, op.end):
        if isinstance(number, SSAValue):
            number = sizes.computed(number)
        if isinstance(number, SymbolicSize):
            number = sizes.limit(number)
        if not isinstance(number, int):
            return None
        ends.append(number)
    return min(ends), max(ends)
