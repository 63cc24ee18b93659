"""Tensor types, each made once."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException


@lru_cache(maxsize=8192)
def tensor_type(element: Attribute, shape: tuple[int, ...]) -> TensorType:
    """The tensor type, the same object for the same arguments: a program has few, and making one costs more.

    VerifyException for a negative size.
    """
    if any(size < 0 and size != DYNAMIC_INDEX for size in shape):
        raise VerifyException(f"a size is negative: {list(shape)}")
    return TensorType(element, shape)
