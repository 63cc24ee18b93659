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

    Where fp32 operands are among them the result is fp32 anyway.
    """

    @wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        types = [leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
        narrow = reduce(torch.promote_types, types) if types else None
        if narrow not in HALVES:
            return function(*args, **kwargs)

        def wide(value: torch.Tensor) -> torch.Tensor:
            return value.float() if value.dtype in HALVES else value

        args, kwargs = pytree.tree_map_only(torch.Tensor, wide, (args, kwargs))
        return pytree.tree_map_only(torch.Tensor, lambda each: _narrowed(each, narrow), function(*args, **kwargs))

    return computed


def _narrowed(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if value.is_floating_point() else value
