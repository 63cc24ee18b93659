"""Which operators are computed as others."""

from collections.abc import Callable
from typing import Any

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
