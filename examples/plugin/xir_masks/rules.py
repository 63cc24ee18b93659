"""Which edge ops masks are made of, and what each becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import TensorType, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from xir.plugin import EdgeOp, RefusalError
from xir_masks.builder import MasksBuilder, element_of, shape_of
from xir_masks.operation import Operation as Name

Rule = Callable[[EdgeOp, MasksBuilder], SSAValue]

RULES: dict[str, Rule] = {}
"""Edge op name -> its rule."""

MOVES = frozenset({"edge.unsqueeze", "edge.squeeze.dims", "edge.squeeze.dim", "edge.view", "edge.expand"})
"""Those that only move data: alone they are no work."""


def masks_rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule. It returns the value that replaces the op's result, or raises RefusalError."""

    def register(rule: Rule) -> Rule:
        for name in names:
            RULES[f"edge.{name}"] = rule
        return rule

    return register


def _element(op: EdgeOp) -> Attribute:
    """The element type of the op's result."""
    return element_of(op.results[0])


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


def _operand(op: EdgeOp, name: str, b: MasksBuilder, element: Attribute) -> SSAValue:
    """A tensor or number of the op's arguments, as an element type."""
    tensor = op.tensor(name) if name in op.schema.tensors else None
    return b.cast(b.value(tensor), element) if tensor is not None else b.number(op.value(name), element)


@masks_rule(*(f"{name}.{kind}" for name in ("add", "sub", "mul") for kind in ("Tensor", "Scalar")))
@masks_rule("rsub.Scalar", "minimum", "maximum")
def arithmetic(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """The operation, the second operand times `alpha`."""
    element = _element(op)
    name, of_bools = _ARITHMETIC[_stem(op)]
    operands = [_operand(op, each, b, element) for each in ("self", "other")]
    if _stem(op) == "rsub":
        operands.reverse()
    if "alpha" in op.schema.values and op.value("alpha") != 1:
        operands[1] = b.compute(Name.MULTIPLY, [operands[1], b.number(op.value("alpha"), element)], element)
    if element != i1:
        return b.compute(name, operands, element)
    if of_bools is None:
        raise RefusalError("it computes with bools as numbers")
    return b.compute(of_bools, operands, i1)


@masks_rule(*(f"{name}.{kind}" for name in _COMPARISONS for kind in ("Tensor", "Scalar")))
def comparison(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """Both operands in the type that torch compares them in."""
    left, right = op.required("self"), op.tensor("other") if "other" in op.schema.tensors else op.value("other")
    element = _compared_in(left, right)
    operands = [_operand(op, name, b, element) for name in ("self", "other")]
    return b.compute(_COMPARISONS[_stem(op)], operands, i1)


def _compared_in(left: SSAValue, right: Any) -> Attribute:
    """The type that a tensor and another, or a number, are compared in: torch.result_type of integers and bools."""
    element = element_of(left)
    if element == f32:
        raise RefusalError("it computes with floats", "masks are of integers and bools")
    if not isinstance(right, SSAValue):
        if isinstance(right, float):
            raise RefusalError("it compares with a number that is no integer")
        return i64 if element == i1 and not isinstance(right, bool) else element
    other = element_of(right)
    if i1 in (element, other):
        return other if element == i1 else element
    if (shape_of(left) == ()) != (shape_of(right) == ()):  # one without dimensions does not count
        return other if shape_of(left) == () else element
    return i64 if i64 in (element, other) else element


@masks_rule(*(f"{name}.{kind}" for name in _BITWISE for kind in ("Tensor", "Scalar")))
def bitwise(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """Of each bit."""
    element = _element(op)
    return b.compute(_BITWISE[_stem(op)], [_operand(op, name, b, element) for name in ("self", "other")], element)


@masks_rule(*_LOGICAL)
def logical(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """Of whether operands are zero."""
    return b.compute(_LOGICAL[_stem(op)], [_operand(op, name, b, i1) for name in ("self", "other")], i1)


@masks_rule("neg", "bitwise_not", "logical_not")
def unary(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """The one operand's."""
    name = Name.NEGATE if _stem(op) == "neg" else Name.NOT
    return b.compute(name, [_operand(op, "self", b, _element(op))], _element(op))


@masks_rule("where.self")
def where(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """One of two; they may be float32 too."""
    return _select(op, b, op.required("condition"), b.value(op.required("self")), b.value(op.required("other")))


@masks_rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """The value where the mask holds."""
    in_schema = "value" in op.schema.tensors
    filled = b.value(op.required("value")) if in_schema else b.number(op.value("value"), _expected(op))
    return _select(op, b, op.required("mask"), filled, b.value(op.required("self")))


def _select(op: EdgeOp, b: MasksBuilder, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
    element = _expected(op)
    branches = [b.cast(value, element) for value in (then, otherwise)]
    return b.compute(Name.SELECT, [b.cast(b.value(condition), i1), *branches], element)


def _expected(op: EdgeOp) -> Attribute:
    """The element type of the result, if it is one that can be selected."""
    element = _element(op)
    if element not in (i1, i32, i64, f32):
        raise RefusalError(f"it gives {element}")
    return element


@masks_rule("clamp")
def clamp(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """Not below the one, not above the other."""
    value, element = _operand(op, "self", b, _element(op)), _element(op)
    for name, bound in ((Name.MAXIMUM, op.value("min")), (Name.MINIMUM, op.value("max"))):
        if bound is not None:
            value = b.compute(name, [value, b.number(bound, element)], element)
    return value


@masks_rule("_to_copy")
def to_copy(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """Another element type."""
    return b.compute(Name.CAST, [b.value(op.required("self"))], _expected(op))


@masks_rule("unsqueeze")
def unsqueeze(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """One more dimension."""
    rank = len(shape_of(op.results[0]))
    return b.reshape(b.value(op.required("self")), [], [op.value("dim") % rank])


@masks_rule("squeeze.dims", "squeeze.dim")
def squeeze(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """Those of the dimensions that are 1."""
    value = b.value(op.required("self"))
    shape = shape_of(value)
    dims = op.value("dim")
    dropped = {dim % len(shape) for dim in ([dims] if isinstance(dims, int) else dims)} if shape else set[int]()
    if any(shape[dim] == -1 for dim in dropped):
        raise RefusalError("it may drop a dynamic dimension")
    return b.reshape(value, sorted(dim for dim in dropped if shape[dim] == 1), [])


@masks_rule("view")
def view(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """Where only dimensions of size 1 come and go."""
    value = b.value(op.required("self"))
    before, after = shape_of(value), shape_of(op.results[0])
    if [size for size in before if size != 1] != [size for size in after if size != 1] or before.count(-1) > 1:
        raise RefusalError("it changes more than dimensions of size 1")
    ones = [[dim for dim, size in enumerate(shape) if size == 1] for shape in (before, after)]
    return b.reshape(value, *ones)


@masks_rule("expand")
def expand(op: EdgeOp, b: MasksBuilder) -> SSAValue:
    """Dimensions of size 1 repeated."""
    type = op.results[0].type
    assert isinstance(type, TensorType)
    return b.broadcast(b.value(op.required("self")), type.get_shape())
