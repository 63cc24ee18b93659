"""The types of the values of an execution plan, one for each member of `KernelTypes`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class NullType(ParametrizedAttribute, TypeAttribute):
    """No value: an optional argument that is not given."""

    name = "pte.null"


@irdl_attr_definition
class IntType(ParametrizedAttribute, TypeAttribute):
    """A 64-bit integer. Enumerations such as dtypes are integers too."""

    name = "pte.int"


@irdl_attr_definition
class BoolType(ParametrizedAttribute, TypeAttribute):
    """A truth value."""

    name = "pte.bool"


@irdl_attr_definition
class DoubleType(ParametrizedAttribute, TypeAttribute):
    """A 64-bit float."""

    name = "pte.double"


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """A string."""

    name = "pte.string"


@irdl_attr_definition
class TensorType(ParametrizedAttribute, TypeAttribute):
    """A tensor: a buffer with a shape. What it holds changes while the plan runs."""

    name = "pte.tensor"


@irdl_attr_definition
class IntListType(ParametrizedAttribute, TypeAttribute):
    """A list of values that are integers when it is read."""

    name = "pte.int_list"


@irdl_attr_definition
class DoubleListType(ParametrizedAttribute, TypeAttribute):
    """A list of 64-bit floats."""

    name = "pte.double_list"


@irdl_attr_definition
class BoolListType(ParametrizedAttribute, TypeAttribute):
    """A list of truth values."""

    name = "pte.bool_list"


@irdl_attr_definition
class TensorListType(ParametrizedAttribute, TypeAttribute):
    """A list of tensors."""

    name = "pte.tensor_list"


@irdl_attr_definition
class OptionalTensorListType(ParametrizedAttribute, TypeAttribute):
    """A list of tensors, each of which may be absent."""

    name = "pte.optional_tensor_list"


@irdl_attr_definition
class ScalarType(Data[str], TypeAttribute):
    """An element type that MLIR has no word for, by its name in the schema's `ScalarType`: `!pte.scalar<QInt8>`."""

    name = "pte.scalar"

    NAMES: ClassVar[dict[str, int]] = {
        "QInt8": 12,
        "QUInt8": 13,
        "QInt32": 14,
        "QUInt4x2": 16,
        "QUInt2x4": 17,
        "Bits16": 22,
        "Float8E5M2": 23,
        "Float8E4M3FN": 24,
        "Float8E5M2FNUZ": 25,
        "Float8E4M3FNUZ": 26,
    }
    SIZES: ClassVar[dict[str, int]] = {"QInt32": 4, "Bits16": 2}

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            pos = parser.pos
            name = parser.parse_identifier()
            if name not in cls.NAMES:
                parser.raise_error(f"unknown element type '{name}', expected one of {', '.join(cls.NAMES)}", pos)
        return name

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


_CODES: dict[Attribute, int] = {
    IntegerType(8, Signedness.UNSIGNED): 0,
    i8: 1,
    i16: 2,
    i32: 3,
    i64: 4,
    f16: 5,
    f32: 6,
    f64: 7,
    i1: 11,
    bf16: 15,
    IntegerType(16, Signedness.UNSIGNED): 27,
    IntegerType(32, Signedness.UNSIGNED): 28,
    IntegerType(64, Signedness.UNSIGNED): 29,
    **{ScalarType(name): code for name, code in ScalarType.NAMES.items()},
}
_TYPES = {code: element_type for element_type, code in _CODES.items()}
_FLOAT_SIZES: dict[type[Attribute], int] = {Float16Type: 2, BFloat16Type: 2, Float32Type: 4, Float64Type: 8}


def scalar_code(element_type: Attribute) -> int | None:
    """The `ScalarType` number of an element type (c10's numbering), None if a program cannot hold it."""
    return _CODES.get(element_type)


def scalar_type(code: int) -> Attribute | None:
    """The element type of a `ScalarType` number, or None if there is none of that number."""
    return _TYPES.get(code)


def element_size(element_type: Attribute) -> int:
    """The bytes that one element takes. `element_type` must have a `scalar_code`."""
    if isinstance(element_type, IntegerType):
        return max(1, element_type.width.data // 8)
    if isinstance(element_type, ScalarType):
        return ScalarType.SIZES.get(element_type.data, 1)
    return _FLOAT_SIZES[type(element_type)]
