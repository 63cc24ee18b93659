"""The properties that an edge op stores, and those that it does not: arguments at their defaults."""

from typing import Any

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute
from xdsl.irdl import AttrSizedOperandSegments
from xdsl.utils.exceptions import VerifyException

from .attributes import to_python
from .schema import REQUIRED, Argument

SEGMENTS = AttrSizedOperandSegments.attribute_name
"""Property with the operand count of each tensor argument; present where two or more of them vary."""

PRESENT_SUFFIX = "_present"
"""`indices_present = array<i1: false, true>`: which elements of a `Tensor?[]` argument are there, if not all are."""


def default_of(argument: Argument) -> Any:
    """The default as `EdgeOp.value` gives it."""
    if argument.type.base == "ScalarType" and argument.default is not None:
        return _ELEMENT_TYPES[argument.default]
    return argument.default


_ELEMENT_TYPES = {"long": i64, "float": f32, "double": f64}
"""The ScalarTypes that occur as defaults."""


def is_default(argument: Argument, attribute: Attribute) -> bool:
    """Whether an attribute is the argument's default, so that it is not stored."""
    if argument.default is REQUIRED or argument.default is None:
        return False
    try:
        value = to_python(argument.type, attribute)
    except VerifyException:
        return False  # the verifier will say so
    default = default_of(argument)
    return value == default and type(value) is type(default)
