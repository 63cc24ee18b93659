"""Tensor types, each built once, and accessors for the types of values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.ir.shapes import LARGEST_SIZE, Shape

LARGEST_TENSOR = 2**63 - 1
"""The largest number of elements: it has to fit `i64`, as indices and the sizes of views do."""


@lru_cache(maxsize=8192)
def size_problem(shape: tuple[int, ...]) -> str | None:
    """Why no program can have a tensor of these sizes, dynamic ones among them; None if one can."""
    elements = 1
    for size in shape:
        if size == DYNAMIC_INDEX:
            continue
        if size < 0:
            return f"a size is negative: {list(shape)}"
        if size > LARGEST_SIZE:
            return f"a size of {size} is larger than {LARGEST_SIZE}, the most that a program can store"
        elements *= max(size, 1)
    return f"a tensor of {elements} elements is too large" if elements > LARGEST_TENSOR else None


def oversized(types: Iterable[Attribute]) -> str | None:
    """Why no program can have the first such type among these types; None if all are fine."""
    for type in types:
        if isinstance(type, TensorType) and (problem := size_problem(type.get_shape())) is not None:
            return problem
    return None


@lru_cache(maxsize=8192)
def tensor_type(element: Attribute, shape: tuple[int, ...]) -> TensorType:
    """The tensor type, the same object for the same arguments: a program has few, and making one costs more.

    VerifyException for a negative size. Sizes too large for a program are the verifier's to refuse: sizes are also
    followed at numbers that stand for dynamic ones, whose products no program has.
    """
    if any(size < 0 and size != DYNAMIC_INDEX for size in shape):
        raise VerifyException(f"a size is negative: {list(shape)}")
    return TensorType(element, shape)


def shape_of(value: SSAValue) -> Shape:
    """The shape of a tensor value, DYNAMIC_INDEX for a dynamic dimension."""
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()


def has_dynamic_size(value: SSAValue) -> bool:
    """Whether a value is a tensor with a dynamic dimension."""
    return isinstance(value.type, TensorType) and not value.type.has_static_shape()


def dynamic_among(values: Sequence[SSAValue]) -> list[SSAValue]:
    """The values that are tensors with a dynamic dimension. Each type, of which there are few, is asked once."""
    types = {id(value.type): value for value in values}
    dynamic = {key for key, value in types.items() if has_dynamic_size(value)}
    return [value for value in values if id(value.type) in dynamic] if dynamic else []


def rank_of(value: SSAValue) -> int:
    """The number of dimensions of a tensor value."""
    return len(shape_of(value))


def element_type(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.element_type
