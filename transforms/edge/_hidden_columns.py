"""Masks that hide what is behind a position: which columns of a value cannot be seen, by how it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import CompareTensors
from xir.dialects.edge.types import element_of, is_float, shape_of, wrap_dim
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.transforms.edge._ranges import MOVES

HIDING = -1e4
"""A score to which this number or a smaller one is added is hidden: its softmax is 0 in any floating-point type, unless
the scores that are seen are smaller by nearly as much."""


class Content(Enum):
    """What stands in the columns behind a position."""

    FALSE = "False, or 0"
    TRUE = "True, or 1"
    HIDING = "a number that hides"


@dataclass(frozen=True)
class Columns:
    """Integers that count columns: element [..., j] is j + offset."""

    offset: int


@dataclass(frozen=True)
class Positions:
    """Integers, each an element of `source` plus `offset`."""

    source: SSAValue
    offset: int


@dataclass(frozen=True)
class Behind:
    """A value with the same content in all columns behind the largest of `source`, plus `offset`."""

    source: SSAValue
    offset: int
    content: Content
    rows: int | None = None
    """The rows of the table that the positions index, if they do: negative positions count from its end."""


Description = Columns | Positions | Behind

AND = frozenset({"edge.bitwise_and.Tensor", "edge.logical_and", "edge.mul.Tensor"})
OR = frozenset({"edge.bitwise_or.Tensor", "edge.logical_or"})
NOT = frozenset({"edge.bitwise_not", "edge.logical_not"})
OPPOSITE = {Content.FALSE: Content.TRUE, Content.TRUE: Content.FALSE}
Sum = edge.AddScalarOp | edge.SubScalarOp


class HiddenColumns:
    """Describes the values of one function, each once."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx
        self.descriptions: dict[SSAValue, Description | None] = {}

    def hidden(self, mask: SSAValue) -> Behind | None:
        """From where on a mask of attention hides every column: a boolean one is False there, one of numbers hides."""
        wanted = Content.HIDING if is_float(element_of(mask)) else Content.FALSE
        found = self.described(mask)
        return found if isinstance(found, Behind) and found.content is wanted else None

    def described(self, value: SSAValue) -> Description | None:
        """What is known of a value; None if nothing is."""
        if value not in self.descriptions:
            self.descriptions[value] = self.describe(value)
        return self.descriptions[value]

    def describe(self, value: SSAValue) -> Description | None:
        """What is known of a value, by the op that computes it."""
        found = self.by_op(value)
        is_integer = element_of(value) in (i32, i64)
        return Positions(value, 0) if found is None and is_integer and value_count(value) != 0 else found

    def by_op(self, value: SSAValue) -> Description | None:
        op = value.owner
        match op:
            case edge.ConstantOp():
                return self.constant(op)
            case edge.ToCopyOp():
                found = self.described(op.self)
                # Of other numbers than 0 and 1 a conversion may make something else.
                keeps = isinstance(found, Behind) or element_of(value) in (i32, i64)
                return found if keeps and found is not None else None
            case edge.AddScalarOp() | edge.SubScalarOp():
                return self.shifted(op)
            case edge.MulScalarOp():
                return self.scaled(op)
            case edge.RsubScalarOp():
                swaps = op.argument("other") == 1 and op.alpha == 1
                return opposite(self.described(op.self)) if swaps else None
            case edge.WhereSelfOp():
                return self.chosen(self.described(op.condition), op.self, op.other)
            case edge.MaskedFillScalarOp():
                number = op.argument("value")
                chosen = isinstance(number, int | float) and number <= HIDING
                return self.taken(self.described(op.mask), Content.TRUE) if chosen else None
            case edge.MaskedFillTensorOp():
                return self.chosen(self.described(op.mask), op.value, op.self)
            case edge.IndexTensorOp():
                return self.looked_up(op)
            case edge.EdgeOp() if isinstance(op, CompareTensors):
                return compared(op.name, op.self, op.other, self.described(op.self), self.described(op.other))
            case edge.EdgeOp() if op.name in NOT:
                return opposite(self.described(op.operands[0]))
            case edge.MulTensorOp() if is_float(element_of(value)):
                # Of a factor that may be infinite, 0 makes NaN.
                factors = op.tensor_operands
                are_flags = all(isinstance(self.described(factor), Behind) for factor in factors)
                return self.joined(factors, Content.FALSE, Content.TRUE) if are_flags else None
            case edge.EdgeOp() if op.name in AND:
                return self.joined(op.tensor_operands, Content.FALSE, Content.TRUE)
            case edge.EdgeOp() if op.name in OR:
                return self.joined(op.tensor_operands, Content.TRUE, Content.FALSE)
            case edge.EdgeOp() if op.name in MOVES and len(op.tensor_operands) == 1:
                found = self.described(op.tensor_operands[0])
                return found if isinstance(found, Positions) or keeps_columns(op) else None
            case _:
                return None

    def constant(self, op: edge.ConstantOp) -> Description | None:
        """Constants that count columns."""
        shape = shape_of(op.result)
        if element_of(op.result) not in (i32, i64) or not shape or shape[-1] < 2:
            return None
        array = constant_array(op.value, self.ctx, op)
        first = int(array.reshape(-1)[0]) if array.size else 0
        is_counting = np.array_equal(array, np.broadcast_to(np.arange(first, first + shape[-1]), shape))
        return Columns(first) if is_counting else None

    def shifted(self, op: Sum) -> Description | None:
        """Integers plus a number."""
        found, number, alpha = self.described(op.self), op.argument("other"), op.alpha
        if not isinstance(found, Columns | Positions) or not isinstance(number, int) or not isinstance(alpha, int):
            return None
        amount = number * alpha if isinstance(op, edge.AddScalarOp) else -number * alpha
        return replace(found, offset=found.offset + amount)

    def scaled(self, op: edge.MulScalarOp) -> Description | None:
        """1 times a number that hides; 0 stays 0."""
        found, number = self.described(op.self), op.argument("other")
        if not isinstance(found, Behind) or not isinstance(number, int | float) or not is_float(element_of(op.self)):
            return None
        if found.content is Content.TRUE and number <= HIDING:
            return replace(found, content=Content.HIDING)
        return found if found.content is Content.FALSE and np.isfinite(number) else None

    def chosen(self, condition: Description | None, value: SSAValue, other: SSAValue) -> Description | None:
        """A number that hides, where a condition says so."""
        if self.hides(other):
            return self.taken(condition, Content.FALSE)
        return self.taken(condition, Content.TRUE) if self.hides(value) else None

    def taken(self, condition: Description | None, content: Content) -> Description | None:
        """Numbers that hide where a condition has this content."""
        if not isinstance(condition, Behind) or condition.content is not content:
            return None
        return replace(condition, content=Content.HIDING)

    def hides(self, value: SSAValue) -> bool:
        """Whether a value is a constant of numbers that hide."""
        op = value.owner
        return isinstance(op, edge.ConstantOp) and bool((constant_array(op.value, self.ctx, op) <= HIDING).all())

    def joined(self, operands: Sequence[SSAValue], one: Content, both: Content) -> Description | None:
        """A conjunction of booleans, or a product of ones and zeros, for FALSE and TRUE: False where one operand is.
        The other way round it is a disjunction."""
        found = [each for each in map(self.described, operands) if isinstance(each, Behind)]
        if certain := [each for each in found if each.content is one]:
            return min(certain, key=lambda each: each.offset) if same_positions(certain) else certain[0]
        if len(found) < len(operands) or any(each.content is not both for each in found):
            return None
        return max(found, key=lambda each: each.offset) if same_positions(found) else None

    def looked_up(self, op: edge.IndexTensorOp) -> Description | None:
        """Rows of a constant mask by positions."""
        table, indices = op.self.owner, op.indices
        if not isinstance(table, edge.ConstantOp) or len(indices) != 1 or indices[0] is None:
            return None
        rows = self.described(indices[0])
        array = constant_array(table.value, self.ctx, table)
        if not isinstance(rows, Positions) or array.ndim != 2 or array.dtype.kind not in "bf":
            return None
        content = Content.FALSE if array.dtype.kind == "b" else Content.HIDING
        seen = array if content is Content.FALSE else ~(array <= HIDING)
        # The last column that a row shows, by the row; −1 where it shows none.
        last = np.where(seen.any(1), seen.shape[1] - 1 - np.argmax(seen[:, ::-1], 1), -1)
        ahead = int((last - np.arange(len(last))).max(initial=-len(last)))
        return Behind(rows.source, ahead, content, len(last)) if rows.offset == 0 else None


def value_count(value: SSAValue) -> int:
    """How many elements a value has; −1 if that is not known."""
    shape = shape_of(value)
    return -1 if any(size < 0 for size in shape) else int(np.prod(shape))


def same_positions(found: Sequence[Behind]) -> bool:
    """Whether values have their content behind the same positions, give or take an offset."""
    return len({(each.source, each.rows) for each in found}) == 1


def opposite(found: Description | None) -> Description | None:
    """True for False, 1 for 0, and the other way round."""
    if not isinstance(found, Behind) or found.content not in OPPOSITE:
        return None
    return replace(found, content=OPPOSITE[found.content])


def compared(
    name: str, first: SSAValue, second: SSAValue, a: Description | None, b: Description | None
) -> Description | None:
    """A comparison of columns with positions, which have one column: j + a ≤ p + b is False for j > p + b − a."""
    relation = name.split(".")[1]
    if isinstance(a, Positions) and isinstance(b, Columns):
        relation = {"le": "ge", "lt": "gt", "ge": "le", "gt": "lt"}.get(relation, relation)
        first, second, a, b = second, first, b, a
    if not isinstance(a, Columns) or not isinstance(b, Positions) or shape_of(second)[-1:] not in ((), (1,)):
        return None
    distance = b.offset - a.offset
    match relation:
        case "le":
            return Behind(b.source, distance, Content.FALSE)
        case "lt":
            return Behind(b.source, distance - 1, Content.FALSE)
        case "gt":
            return Behind(b.source, distance, Content.TRUE)
        case "ge":
            return Behind(b.source, distance - 1, Content.TRUE)
        case "eq":
            return Behind(b.source, distance, Content.FALSE)
        case _:
            return Behind(b.source, distance, Content.TRUE)


def keeps_columns(op: edge.EdgeOp) -> bool:
    """Whether a move leaves the last dimension, its columns, whole, in order, and the last."""
    before, after = shape_of(op.tensor_operands[0]), shape_of(op.results[0])
    if not before or not after or before[-1] != after[-1] or before[-1] < 0:
        return False
    last = len(before) - 1
    match op:
        case edge.PermuteOp():
            return wrap_dim(op.dims[-1], len(before)) == last
        case edge.TransposeIntOp():
            return last not in (wrap_dim(op.dim0, len(before)), wrap_dim(op.dim1, len(before)))
        case edge.TOp():
            return False
        case edge.SelectIntOp() | edge.SliceTensorOp():
            return wrap_dim(op.dim, len(before)) != last
        case edge.UnsqueezeOp():
            return wrap_dim(op.dim, len(after)) != last + 1
        case edge.SqueezeOp() | edge.SqueezeDimOp() | edge.SqueezeDimsOp():
            return before[-1] != 1
        case edge.ViewOp() | edge.UnsafeViewOp() | edge.ExpandOp() | edge.CloneOp():
            return True
        case _:
            return op.name in ("edge.alias", "edge.detach", "edge.contiguous")
