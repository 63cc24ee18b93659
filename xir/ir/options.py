"""Options that are given as text: the fields of a frozen dataclass, which a pass or a partitioner is.

Their types are `bool`, `int`, `float`, `str`, `Literal["a", "b"]`, `tuple[<one of these>, ...]`, and `... | None`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def values_of(cls: type, options: Mapping[str, str], owner: str) -> dict[str, Any]:
    """The fields' values that texts give, by field name or with dashes. ValueError names what is wrong, and `owner`."""
    types = _types(cls) if options else {}
    known, required = _fields(cls)
    values: dict[str, Any] = {}
    for option, text in options.items():
        if (known_field := known.get(option.replace("_", "-"))) is None:
            choices = f"its options are {', '.join(sorted(known))}" if known else "it has none"
            raise ValueError(f"{owner} has no option '{option}': {choices}")
        try:
            values[known_field.name] = _convert(text, types[known_field.name])
        except ValueError as error:
            raise ValueError(f"option '{option}' of {owner}: {error}") from error
    if missing := sorted(required - values.keys()):
        raise ValueError(f"{owner} needs the option '{missing[0].replace('_', '-')}'")
    return values


@functools.cache
def _fields(cls: type) -> tuple[dict[str, dataclasses.Field[Any]], set[str]]:
    """The fields by the options' names, and the names of those that have to be given."""
    known = {f.name.replace("_", "-"): f for f in dataclasses.fields(cls)}
    return known, {f.name for f in known.values() if has_no_default(f)}


@functools.cache
def _types(cls: type) -> dict[str, Any]:
    """The fields' types, which are evaluated once: a compilation gives dozens of passes options."""
    return get_type_hints(cls)


def has_no_default(option: dataclasses.Field[Any]) -> bool:
    """Whether an option has to be given."""
    return option.default is dataclasses.MISSING and option.default_factory is dataclasses.MISSING


def is_option_type(type: Any) -> bool:
    """Whether text can give an option of this type."""
    origin, arguments = get_origin(type), get_args(type)
    if origin in (Union, UnionType):
        inner = [t for t in arguments if t is not NoneType]
        return len(inner) == 1 and is_option_type(inner[0])
    if origin is tuple:
        return arguments[1:] == (...,) and is_option_type(arguments[0])
    return origin is Literal or type in (bool, int, float, str)


def _convert(text: str, type: Any) -> Any:
    """An option's text as a value of its field's type. ValueError says what was expected."""
    origin = get_origin(type)
    if origin in (Union, UnionType):
        inner = [t for t in get_args(type) if t is not NoneType]
        return None if text == "none" else _convert(text, inner[0])
    if origin is tuple:
        return tuple(_convert(part.strip(), get_args(type)[0]) for part in text.split(",") if part.strip())
    if origin is Literal:
        if text not in get_args(type):
            raise ValueError(f"expected {' or '.join(map(str, get_args(type)))}, got '{text}'")
        return text
    if type is bool:
        value = {"": True, "true": True, "1": True, "false": False, "0": False}.get(text)
        if value is None:
            raise ValueError(f"expected true or false, got '{text}'")
        return value
    if type is int or type is float:
        try:
            return type(text)
        except ValueError:
            raise ValueError(f"expected {'an integer' if type is int else 'a number'}, got '{text}'") from None
    if type is str:
        return text
    raise TypeError(f"an option cannot be {type}")


def option_text(value: Any) -> str:
    """An option's value as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(option_text, value))  # pyright: ignore[reportUnknownArgumentType]
    return "none" if value is None else str(value)
