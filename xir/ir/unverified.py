"""Attributes whose parameters are right by construction."""

from __future__ import annotations

from typing import Any, TypeVar

from xdsl.ir import ParametrizedAttribute

AttributeT = TypeVar("AttributeT", bound=ParametrizedAttribute)


def unverified(kind: type[AttributeT], **parameters: Any) -> AttributeT:
    """An attribute made of all its parameters, neither converted nor verified.

    For those that every op has, such as locations: verifying one takes ten times as long as making it.
    """
    attribute = object.__new__(kind)
    for name, value in parameters.items():
        object.__setattr__(attribute, name, value)
    return attribute
