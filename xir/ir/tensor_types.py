"""Tensor types, each made once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xir.ir.shapes import LARGEST_SIZE

LARGEST_TENSOR = 2**63 - 1
"""The most elements: their number has to be an `i64`, as indices and the sizes of views are."""


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
    """The problem of the first tensor type among them that no program can have."""
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
