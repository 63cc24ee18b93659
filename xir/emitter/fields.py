"""Between attributes and the numbers, strings and lists of a tree.

An op's properties bear the names of its table's fields, so these two functions are all the conversion there is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xir.emitter.fbs import Field

_INTEGERS: dict[str, IntegerType] = {"bool": i1, "long": i64, "ulong": i64}
_FLOATS = {"float": f32, "double": f64}


def to_tree(attr: Attribute) -> Any:
    """The plain value of an attribute: a number, a bool, a string, or a list of numbers or bools."""
    match attr:
        case IntegerAttr():
            return bool(attr.value.data) if attr.type == i1 else attr.value.data
        case FloatAttr():
            return attr.value.data
        case StringAttr():
            return attr.data
        case DenseArrayBase():
            values = list(cast("DenseArrayBase[IntegerType]", attr).iter_values())
            return [bool(v) for v in values] if attr.elt_type == i1 else values
        case _:
            raise TypeError(f"{attr.name} has no plain value")


def to_attribute(field: Field, value: Any) -> Attribute:
    """The attribute of a field's plain value: i1, i64 or i32, f32 or f64, a string, or an array of one of these."""
    if field.type == "string":
        return StringAttr(value)
    element = _FLOATS.get(field.type) or _INTEGERS.get(field.type, i32)
    if field.vector:
        return DenseArrayBase.from_list(element, list(value))  # pyright: ignore[reportArgumentType]
    return FloatAttr(value, element) if isinstance(element, AnyFloat) else _integer(int(value), element)


@lru_cache(maxsize=4096)
def _integer(value: int, element: IntegerType) -> IntegerAttr:
    """Files repeat few numbers, most of them small."""
    return IntegerAttr(value, element)
