"""Shapes and element types of ATen results: what the tables' inference functions share.

An open dimension (DYNAMIC_INDEX, `?`) is known only when the program runs; it agrees with every size.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    ComplexType,
    Float16Type,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    f64,
    i1,
    i16,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.ir.shapes import Shape as Shape
from xir.ir.shapes import broadcast as broadcast
from xir.ir.shapes import same_dim as same_dim
from xir.ir.shapes import same_shape as same_shape
from xir.ir.shapes import shape_text as shape_text
from xir.ir.tensor_types import tensor_type as tensor_type

ui8 = IntegerType(8, Signedness.UNSIGNED)


def shape_of(value: SSAValue | None) -> Shape:
    """The shape of a tensor operand."""
    if value is None or not isinstance(value.type, TensorType):
        raise VerifyException("expected a tensor")
    return value.type.get_shape()


def element_of(value: SSAValue | None) -> Attribute:
    """The element type of a tensor operand."""
    if value is None or not isinstance(value.type, TensorType):
        raise VerifyException("expected a tensor")
    return value.type.element_type


# Shapes


def known(size: Any) -> int:
    """A size argument as dimension: an SSA value is one that is not known yet."""
    return size if isinstance(size, int) else DYNAMIC_INDEX


def wrap_dim(dim: int, rank: int) -> int:
    """A dimension argument counted from 0. A scalar takes 0 and -1, as in ATen."""
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise VerifyException(f"dim {dim} is out of range for a tensor of rank {rank}")
    return dim + limit if dim < 0 else dim


def wrap_dims(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Dimension arguments counted from 0, each of which has to be another one."""
    wrapped = tuple(wrap_dim(d, rank) for d in dims)
    if len(set(wrapped)) != len(wrapped):
        raise VerifyException(f"dims {list(dims)} name a dimension twice")
    return wrapped


def count(shape: Iterable[int]) -> int:
    """Number of elements; DYNAMIC_INDEX if a dimension is open."""
    total = 1
    for dim in shape:
        if dim == DYNAMIC_INDEX:
            return DYNAMIC_INDEX
        total *= dim
    return total


def replaced(shape: Shape, dim: int, size: int) -> Shape:
    """The shape with one dimension's size changed."""
    return (*shape[:dim], size, *shape[dim + 1 :])


# Element types

_INTEGER_ORDER = {
    (8, Signedness.UNSIGNED): 0,
    (8, Signedness.SIGNLESS): 1,
    (16, Signedness.SIGNLESS): 2,
    (32, Signedness.SIGNLESS): 3,
    (64, Signedness.SIGNLESS): 4,
}


def is_float(element: Attribute | None) -> bool:
    """Floating-point types of any width."""
    return isinstance(element, AnyFloat)


def is_integral(element: Attribute | None) -> bool:
    """Integers and bool."""
    return isinstance(element, IntegerType)


def promote(a: Attribute, b: Attribute) -> Attribute:
    """ATen's lattice for two element types (c10/core/ScalarType.cpp)."""
    if a == b:
        return a
    if isinstance(a, ComplexType) or isinstance(b, ComplexType):
        return a if isinstance(a, ComplexType) else b
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if isinstance(a, AnyFloat) and isinstance(b, AnyFloat):
        if {type(a), type(b)} == {Float16Type, BFloat16Type}:
            return f32
        return a if a.bitwidth > b.bitwidth else b
    if a == i1 or b == i1:
        return b if a == i1 else a
    if {a, b} == {ui8, IntegerType(8)}:
        return i16
    return a if _order(a, b) > _order(b, a) else b


def _order(a: Attribute, other: Attribute) -> int:
    """The place of an integer type in the order by which the larger one wins."""
    order = _INTEGER_ORDER.get((a.width.data, a.signedness.data)) if isinstance(a, IntegerType) else None
    if order is None:
        raise VerifyException(f"element types {a} and {other} do not promote")
    return order


def _combine(higher: Attribute | None, lower: Attribute | None) -> Attribute | None:
    """A less significant operand changes the category (bool, integer, float) only, never the width."""
    if higher is None or lower is None:
        return higher or lower
    if is_float(higher) or isinstance(higher, ComplexType):
        return higher
    if higher == i1 or not is_integral(lower):
        return promote(higher, lower)
    return higher


def scalar_type(value: Any) -> Attribute:
    """The element type that a Python number, or one that the program computes, stands for in promotion."""
    if isinstance(value, SSAValue):
        return f32 if value.type == f64 else value.type
    return i1 if isinstance(value, bool) else i64 if isinstance(value, int) else f32


def result_element(tensors: Iterable[SSAValue | None], scalars: Iterable[Any] = ()) -> Attribute:
    """ATen's result type of an element-wise op: tensors with dimensions count before those without, both before plain
    numbers (`at::native::result_type`). None operands are passed over."""
    with_dims: Attribute | None = None
    without: Attribute | None = None
    numbers: Attribute | None = None
    for value in tensors:
        if value is None:
            continue
        element = element_of(value)
        if shape_of(value):
            with_dims = element if with_dims is None else promote(with_dims, element)
        else:
            without = element if without is None else promote(without, element)
    for number in scalars:
        if number is not None:
            numbers = scalar_type(number) if numbers is None else promote(numbers, scalar_type(number))
    result = _combine(with_dims, _combine(without, numbers))
    if result is None:
        raise VerifyException("expected an operand")
    return result


def to_float(element: Attribute) -> Attribute:
    """Integers become the default float type, as in true division."""
    return f32 if is_integral(element) else element
