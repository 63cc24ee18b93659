"""Which operators are computed as others."""

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..aliasing import Operator

OWN: dict[Operator, Callable[..., Any]] = {}
"""Operator -> a function of its arguments that calls others."""


def decomposes(*operators: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as what these operators are."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for operator in operators:
            OWN[operator] = function
        return function

    return register


HALVES = (torch.float16, torch.bfloat16)


def in_opmath(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute what is made of fp16 and bf16 numbers in fp32, as ATen does (`at::opmath_type`), and round results once.

    Where fp32 operands with dimensions are among them the result is fp32 anyway; one without is rounded first.
    """

    @wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        narrow = common_float((args, kwargs))
        if narrow not in HALVES:
            return function(*args, **kwargs)

        def wide(value: torch.Tensor) -> torch.Tensor:
            return value.to(narrow).float() if value.is_floating_point() else value

        args, kwargs = pytree.tree_map_only(torch.Tensor, wide, (args, kwargs))
        return pytree.tree_map_only(torch.Tensor, lambda each: _narrowed(each, narrow), function(*args, **kwargs))

    return computed


def common_float(arguments: Any) -> torch.dtype | None:
    """The type that floating-point operands are converted to; None where there are none.

    Tensors without dimensions count only among themselves (`ResultTypeState` in ATen's `native/TypeProperties.cpp`).
    """
    tensors = [each for each in pytree.tree_leaves(arguments) if isinstance(each, torch.Tensor)]
    floats = [each for each in tensors if each.is_floating_point()]
    decide = [each for each in floats if each.ndim] or floats
    return reduce(torch.promote_types, (each.dtype for each in decide)) if decide else None


def in_common_float(function: Callable[..., Any]) -> Callable[..., Any]:
    """Round operands to halves first where these are what the result is of, as ATen does.

    torch's own decompositions widen the halves instead, and leave a wider number without dimensions as it is.
    """

    @wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        common = common_float((args, kwargs))
        if common not in HALVES:
            return function(*args, **kwargs)

        def rounded(value: torch.Tensor) -> torch.Tensor:
            return value if value.dtype in (torch.bool, common) else value.to(common)

        args, kwargs = pytree.tree_map_only(torch.Tensor, rounded, (args, kwargs))
        return function(*args, **kwargs)

    return computed


def _narrowed(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if value.is_floating_point() else value
