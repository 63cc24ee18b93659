"""Python values of ATen arguments as MLIR attributes, and back.

| ATen | attribute |
|---|---|
| int, SymInt | `4 : i64` |
| float | `0.5 : f64` |
| bool | `true` |
| Scalar | one of the three above, by its value; `unit` for one that only the run time knows |
| str, Device, Layout, MemoryFormat | `"contiguous_format"` |
| ScalarType | the element type itself: `f32` |
| lists of int, float, bool | `array<i64: 1, 2>` |
| None | no property |
"""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    FloatData,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.utils.exceptions import VerifyException

from xir.ir.array_attributes import ints
from xir.ir.unverified import unverified

from .schema import ArgType


class RunTime(Enum):
    """The value of a Scalar property that stands for the op's next symbolic operand; each integer may be a number."""

    RUN_TIME = "run time"


RUN_TIME = RunTime.RUN_TIME

DYNAMIC = -(2**63)
"""The value that stands, in a SymInt property, for the op's next symbolic operand (MLIR's `ShapedType::kDynamic`)."""


@lru_cache(maxsize=4096)
def int_attr(value: int) -> IntegerAttr:
    """`value : i64`."""
    return IntegerAttr(value, i64)


@lru_cache(maxsize=2)
def bool_attr(value: bool) -> IntegerAttr:
    """`true` or `false`."""
    return IntegerAttr.from_bool(value)


def float_attr(value: float) -> FloatAttr:
    """`value : f64`."""
    return unverified(FloatAttr, value=FloatData(value), type=f64)


@lru_cache(maxsize=1024)
def string_attr(value: str) -> StringAttr:
    """`"value"`."""
    return StringAttr(value)


@lru_cache(maxsize=4096)
def int_array(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """`array<i64: values>`."""
    return DenseArrayBase.from_list(i64, values)


def _encode_int(value: Any) -> Attribute:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("an integer")
    return int_attr(value)


def _encode_bool(value: Any) -> Attribute:
    if not isinstance(value, bool):
        raise ValueError("a bool")
    return bool_attr(value)


def _encode_float(value: Any) -> Attribute:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number")
    return float_attr(float(value))


def _encode_scalar(value: Any) -> Attribute:
    if value is RUN_TIME:
        return UnitAttr()
    if isinstance(value, bool):
        return bool_attr(value)
    return int_attr(value) if isinstance(value, int) else _encode_float(value)


def _encode_string(value: Any) -> Attribute:
    if not isinstance(value, str):
        raise ValueError("a string")
    return string_attr(value)


def _encode_type(value: Any) -> Attribute:
    if not isinstance(value, TypeAttribute):
        raise ValueError("an element type")
    return value


_ENCODE: dict[str, Callable[[Any], Attribute]] = {
    "int": _encode_int,
    "SymInt": _encode_int,
    "bool": _encode_bool,
    "float": _encode_float,
    "Scalar": _encode_scalar,
    "str": _encode_string,
    "Device": _encode_string,
    "Layout": _encode_string,
    "MemoryFormat": _encode_string,
    "ScalarType": _encode_type,
}
_ARRAY_ELEMENT: dict[str, Any] = {"int": i64, "SymInt": i64, "float": f64, "bool": i1}


def to_attribute(type: ArgType, value: Any) -> Attribute:
    """The attribute of a Python value that is not None. A bare element stands for a list of one (or of `int[n]`'s n).

    ValueError says what was expected instead.
    """
    if not type.is_list:
        if type.base not in _ENCODE:
            raise ValueError(f"nothing: arguments of type {type} have no attribute form")
        return _ENCODE[type.base](value)
    if type.base not in _ARRAY_ELEMENT:
        raise ValueError(f"nothing: arguments of type {type} have no attribute form")
    values: tuple[Any, ...] = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if len(values) == 1 and type.length:
        values *= type.length
    for element in values:
        _ENCODE[type.base](element)
    if type.base in ("int", "SymInt"):
        return int_array(values)
    return DenseArrayBase.from_list(_ARRAY_ELEMENT[type.base], values)


def _decode_scalar(attribute: Attribute) -> Any:
    match attribute:
        case UnitAttr():
            return RUN_TIME
        case IntegerAttr(type=element) if element == i1:
            return bool(attribute.value.data)
        case IntegerAttr(type=element) if element == i64:
            return attribute.value.data
        case FloatAttr(type=element) if element == f64:
            return attribute.value.data
        case _:
            raise VerifyException("expected an i64, f64 or boolean attribute")


def _decode_number(element: Attribute, expected: str) -> Callable[[Attribute], Any]:
    def decode(attribute: Attribute) -> Any:
        if not isinstance(attribute, IntegerAttr | FloatAttr) or attribute.type != element:
            raise VerifyException(f"expected {expected}")
        value = attribute.value.data
        return bool(value) if element == i1 else value

    return decode


def _decode_string(attribute: Attribute) -> str:
    if not isinstance(attribute, StringAttr):
        raise VerifyException("expected a string attribute")
    return attribute.data


def _decode_type(attribute: Attribute) -> TypeAttribute:
    if not isinstance(attribute, TypeAttribute):
        raise VerifyException("expected a type attribute, such as f32")
    return attribute


_DECODE: dict[str, Callable[[Attribute], Any]] = {
    "int": _decode_number(i64, "an i64 attribute"),
    "SymInt": _decode_number(i64, "an i64 attribute"),
    "bool": _decode_number(i1, "true or false"),
    "float": _decode_number(f64, "an f64 attribute"),
    "Scalar": _decode_scalar,
    "str": _decode_string,
    "Device": _decode_string,
    "Layout": _decode_string,
    "MemoryFormat": _decode_string,
    "ScalarType": _decode_type,
}


def to_python(type: ArgType, attribute: Attribute) -> Any:
    """The Python value of an attribute, lists as tuples; VerifyException if it is not an attribute of this type."""
    if not type.is_list:
        if type.base not in _DECODE:
            raise VerifyException(f"arguments of type {type} have no attribute form")
        return _DECODE[type.base](attribute)
    element = _ARRAY_ELEMENT.get(type.base)
    if not isinstance(attribute, DenseArrayBase) or attribute.elt_type != element:
        raise VerifyException(f"expected array<{element}>" if element else f"type {type} has no attribute form")
    if element == i64:
        return ints(attribute)
    values = attribute.get_values()
    return tuple(bool(v) for v in values) if element == i1 else values
