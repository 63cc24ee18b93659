"""Which functions of a module users call, and with what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr, f64, i1, i64
from xdsl.dialects.func import FuncOp

from xir.ir.annotations import VALUE

if TYPE_CHECKING:
    from xdsl.ir import Attribute

Fixed: TypeAlias = bool | int | float | str | None
"""What an input is that the program was exported for, and that its ops hold already."""


def is_method(function: FuncOp) -> bool:
    """Whether a function is a method of the program; private ones are parts of others, such as branches."""
    return function.sym_visibility is None or function.sym_visibility.data != "private"


def methods_of(module: ModuleOp) -> list[FuncOp]:
    """The methods of a program, in order."""
    return [op for op in module.body.ops if isinstance(op, FuncOp) and is_method(op)]


def fixed_inputs(function: FuncOp) -> Mapping[int, Fixed]:
    """The values of those inputs that a caller has to give as they were when the program was exported, by index."""
    if function.arg_attrs is None:
        return {}
    found = ((index, attributes.data.get(VALUE)) for index, attributes in enumerate(function.arg_attrs.data))
    return {index: _value_of(value) for index, value in found if value is not None}


def fixed_attribute(value: Fixed) -> Attribute:
    """The attribute `xir.value` of such an input: a unit for None."""
    match value:
        case None:
            return UnitAttr()
        case bool():
            return IntegerAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)


def _value_of(attribute: Attribute) -> Fixed:
    match attribute:
        case IntegerAttr(type=type):
            return bool(attribute.value.data) if type == i1 else attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case _:
            return None


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions with a body."""
    return [op for op in module.body.ops if isinstance(op, FuncOp) and not op.is_declaration]
