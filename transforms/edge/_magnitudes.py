"""How large the integers of a program can be, where that follows from its constants and the bounds of its sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType, i1, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, is_integral
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.symbolic_size import SymbolicSize
from xir.transforms.analysis.sizes import SymbolicSizes, UnknownSizeError

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


def _sum(op: edge.EdgeOp, sizes: Sequence[int]) -> int:
    return sizes[0] + sizes[1] * abs(op.argument("alpha"))


def _sum_with_number(op: edge.EdgeOp, sizes: Sequence[int]) -> int:
    first, second = (op.argument("alpha"), 1) if op.name == "edge.rsub.Scalar" else (1, op.argument("alpha"))
    return sizes[0] * abs(first) + abs(op.argument("other")) * abs(second)


ARITHMETIC: dict[str, Callable[[edge.EdgeOp, Sequence[int]], int]] = {
    "edge.add.Tensor": _sum,
    "edge.sub.Tensor": _sum,
    "edge.add.Scalar": _sum_with_number,
    "edge.sub.Scalar": _sum_with_number,
    "edge.rsub.Scalar": _sum_with_number,
    "edge.mul.Tensor": lambda op, sizes: sizes[0] * sizes[1],
    "edge.mul.Scalar": lambda op, sizes: sizes[0] * abs(op.argument("other")),
    "edge.neg": lambda op, sizes: sizes[0],
    "edge.abs": lambda op, sizes: sizes[0],
}
"""Op on integers -> the largest absolute value of its result, by those of its operands."""


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
    if op.name == "edge.arange.start_step":
        return arange_magnitude(op, sizes)
    operands = op.tensor_operands
    if not operands or any(value not in known for value in operands):
        return None
    below = [known[value] for value in operands]
    if op.name in MOVES or (op.name == "edge._to_copy" and element_of(result) in (i32, i64)):
        return max(below)
    if op.name not in ARITHMETIC or element_of(result) not in (i32, i64) or has_fraction(op):
        return None
    return ARITHMETIC[op.name](op, below)


def has_fraction(op: edge.EdgeOp) -> bool:
    """Whether a number among the arguments is known at run time alone, or is no integer."""
    given = (op.argument(name) for name in ("other", "alpha") if name in op.schema.values)
    return any(not isinstance(number, int) for number in given)


def arange_magnitude(op: edge.EdgeOp, sizes: SymbolicSizes) -> int | None:
    """The largest absolute value that is counted to, or from."""
    largest = 0
    for name in ("start", "end", "step"):
        number = op.argument(name)
        if isinstance(number, SSAValue):
            try:
                number = sizes.interval(number)[0]
            except UnknownSizeError:
                return None
        if isinstance(number, SymbolicSize):
            number = sizes.limit(number)
        if not isinstance(number, int):
            return None
        largest = max(largest, abs(number))
    return largest
