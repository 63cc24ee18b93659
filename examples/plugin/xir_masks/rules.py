"""Which edge ops masks are made of, and what each becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import CompareTensors, CompareWithNumber, Sum
from xir.plugin import EdgeOp, element_type, shape_of
from xir_masks.builder import MasksBuilder
from xir_masks.operation import Operation as Name
from xir_masks.refusals import BOOLS_AS_NUMBERS, DROPS_DYNAMIC, FLOATS, MORE_THAN_ONES, NO_INTEGER, OTHER_ELEMENT

EdgeOpT = TypeVar("EdgeOpT", bound=EdgeOp)

RULES: dict[str, Callable[[Any, MasksBuilder], SSAValue]] = {}
"""Edge op name -> its rule."""

MOVES = frozenset({"edge.unsqueeze", "edge.squeeze.dims", "edge.squeeze.dim", "edge.view", "edge.expand"})
"""Those that only move data: alone they are no work."""


def masks_rule(rule: Callable[[EdgeOpT, MasksBuilder], SSAValue]) -> Callable[[EdgeOpT, MasksBuilder], SSAValue]:
    """Register a rule for the ops that its first parameter is annotated with. It returns the value that replaces the
    op's result, or raises one of `refusals.py`."""
    for op_class in edge.op_classes(rule):
        RULES[op_class.name] = rule
    return rule


def _element(op: EdgeOp) -> Attribute:
    """The element type of the op's result."""
    return element_type(op.results[0])


# On bools they are what logic has for it: torch adds and multiplies them so.
_ARITHMETIC = {
    "add": (Name.ADD, Name.OR),
    "sub": (Name.SUBTRACT, None),
    "rsub": (Name.SUBTRACT, None),
    "mul": (Name.MULTIPLY, Name.AND),
    "minimum": (Name.MINIMUM, Name.AND),
    "maximum": (Name.MAXIMUM, Name.OR),
}
_COMPARISONS = {
    "eq": Name.EQUAL,
    "ne": Name.NOT_EQUAL,
    "lt": Name.LESS,
    "le": Name.LESS_EQUAL,
    "gt": Name.GREATER,
    "ge": Name.GREATER_EQUAL,
}
_BITWISE = {"bitwise_and": Name.AND, "bitwise_or": Name.OR, "bitwise_xor": Name.XOR}
_LOGICAL = {"logical_and": Name.AND, "logical_or": Name.OR, "logical_xor": Name.XOR}


def _stem(op: EdgeOp) -> str:
    """`add` of `edge.add.Scalar`."""
    return op.name.split(".")[1]


def _operand(value: SSAValue | edge.Number, b: MasksBuilder, element: Attribute) -> SSAValue:
    """A tensor or number as an element type."""
    return b.cast(b.value(value), element) if isinstance(value, SSAValue) else b.number(value, element)


Scaled = Sum | edge.RsubScalarOp
Arithmetic = Scaled | edge.MulTensorOp | edge.MulScalarOp | edge.MinimumOp | edge.MaximumOp


@masks_rule
def arithmetic(op: Arithmetic, b: MasksBuilder) -> SSAValue:
    """The operation, the second operand times `alpha`."""
    element = _element(op)
    name, of_bools = _ARITHMETIC[_stem(op)]
    operands = [_operand(each, b, element) for each in (op.self, op.other)]
    if isinstance(op, edge.RsubScalarOp):
        operands.reverse()
    if isinstance(op, Scaled) and op.alpha != 1:
        operands[1] = b.compute(Name.MULTIPLY, [operands[1], b.number(op.alpha, element)], element)
    if element != i1:
        return b.compute(name, operands, element)
    if of_bools is None:
        raise BOOLS_AS_NUMBERS()
    return b.compute(of_bools, operands, i1)


@masks_rule
def comparison(op: CompareTensors | CompareWithNumber, b: MasksBuilder) -> SSAValue:
    """Both operands in the type that torch compares them in."""
    element = _compared_in(op.self, op.other)
    return b.compute(_COMPARISONS[_stem(op)], [_operand(each, b, element) for each in (op.self, op.other)], i1)


def _compared_in(left: SSAValue, right: SSAValue | edge.Number) -> Attribute:
    """The type that a tensor and another, or a number, are compared in: torch.result_type of integers and bools."""
    element = element_type(left)
    if element == f32:
        raise FLOATS()
    if not isinstance(right, SSAValue):
        if isinstance(right, float):
            raise NO_INTEGER()
        return i64 if element == i1 and not isinstance(right, bool) else element
    other = element_type(right)
    if i1 in (element, other):
        return other if element == i1 else element
    if (shape_of(left) == ()) != (shape_of(right) == ()):  # one without dimensions does not count
        return other if shape_of(left) == () else element
    return i64 if i64 in (element, other) else element


BitwiseTensor = edge.BitwiseAndTensorOp | edge.BitwiseOrTensorOp | edge.BitwiseXorTensorOp
BitwiseScalar = edge.BitwiseAndScalarOp | edge.BitwiseOrScalarOp | edge.BitwiseXorScalarOp


@masks_rule
def bitwise(op: BitwiseTensor | BitwiseScalar, b: MasksBuilder) -> SSAValue:
    """Of each bit."""
    element = _element(op)
    return b.compute(_BITWISE[_stem(op)], [_operand(each, b, element) for each in (op.self, op.other)], element)


@masks_rule
def logical(op: edge.LogicalAndOp | edge.LogicalOrOp | edge.LogicalXorOp, b: MasksBuilder) -> SSAValue:
    """Of whether operands are zero."""
    return b.compute(_LOGICAL[_stem(op)], [_operand(each, b, i1) for each in (op.self, op.other)], i1)


@masks_rule
def unary(op: edge.NegOp | edge.BitwiseNotOp | edge.LogicalNotOp, b: MasksBuilder) -> SSAValue:
    """The one operand's."""
    name = Name.NEGATE if isinstance(op, edge.NegOp) else Name.NOT
    return b.compute(name, [_operand(op.self, b, _element(op))], _element(op))


@masks_rule
def where(op: edge.WhereSelfOp, b: MasksBuilder) -> SSAValue:
    """One of two; they may be float32 too."""
    return _select(op, b, op.condition, b.value(op.self), b.value(op.other))


@masks_rule
def masked_fill(op: edge.MaskedFillScalarOp | edge.MaskedFillTensorOp, b: MasksBuilder) -> SSAValue:
    """The value where the mask holds."""
    filled = b.value(op.value) if isinstance(op.value, SSAValue) else b.number(op.value, _expected(op))
    return _select(op, b, op.mask, filled, b.value(op.self))


def _select(op: EdgeOp, b: MasksBuilder, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
    element = _expected(op)
    branches = [b.cast(value, element) for value in (then, otherwise)]
    return b.compute(Name.SELECT, [b.cast(b.value(condition), i1), *branches], element)


def _expected(op: EdgeOp) -> Attribute:
    """The element type of the result, if it is one that can be selected."""
    element = _element(op)
    if element not in (i1, i32, i64, f32):
        raise OTHER_ELEMENT(element=element)
    return element


@masks_rule
def clamp(op: edge.ClampOp, b: MasksBuilder) -> SSAValue:
    """Not below the one, not above the other."""
    value, element = _operand(op.self, b, _element(op)), _element(op)
    for name, bound in ((Name.MAXIMUM, op.min), (Name.MINIMUM, op.max)):
        if bound is not None:
            value = b.compute(name, [value, b.number(bound, element)], element)
    return value


@masks_rule
def to_copy(op: edge.ToCopyOp, b: MasksBuilder) -> SSAValue:
    """Another element type."""
    return b.compute(Name.CAST, [b.value(op.self)], _expected(op))


@masks_rule
def unsqueeze(op: edge.UnsqueezeOp, b: MasksBuilder) -> SSAValue:
    """One more dimension."""
    rank = len(shape_of(op.results[0]))
    return b.reshape(b.value(op.self), [], [op.dim % rank])


@masks_rule
def squeeze(op: edge.SqueezeDimsOp | edge.SqueezeDimOp, b: MasksBuilder) -> SSAValue:
    """Those of the dimensions that are 1."""
    value = b.value(op.self)
    shape = shape_of(value)
    dims = [op.dim] if isinstance(op, edge.SqueezeDimOp) else op.dim
    dropped = {dim % len(shape) for dim in dims} if shape else set[int]()
    if any(shape[dim] == DYNAMIC_INDEX for dim in dropped):
        raise DROPS_DYNAMIC()
    return b.reshape(value, sorted(dim for dim in dropped if shape[dim] == 1), [])


@masks_rule
def view(op: edge.ViewOp, b: MasksBuilder) -> SSAValue:
    """Where only dimensions of size 1 come and go."""
    value = b.value(op.self)
    before, after = shape_of(value), shape_of(op.results[0])
    kept = [[size for size in shape if size != 1] for shape in (before, after)]
    if kept[0] != kept[1] or before.count(DYNAMIC_INDEX) > 1:
        raise MORE_THAN_ONES()
    ones = [[dim for dim, size in enumerate(shape) if size == 1] for shape in (before, after)]
    return b.reshape(value, *ones)


@masks_rule
def expand(op: edge.ExpandOp, b: MasksBuilder) -> SSAValue:
    """Dimensions of size 1 repeated."""
    type = op.results[0].type
    assert isinstance(type, TensorType)
    return b.broadcast(b.value(op.self), type.get_shape())
