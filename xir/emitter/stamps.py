"""Tables that are written many times and differ in their numbers alone, such as the nodes of a graph: how their bytes
lie is found out once, so that later ones are one `struct.pack`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter, ne
from typing import Any, NamedTuple, TypeAlias, cast

from xir.emitter.fbs import Schema

Number: TypeAlias = int | float


class Blank(NamedTuple):
    """Where a number of a pattern is."""

    which: int


class Entry(NamedTuple):
    """A number that is written for a blank, while a stamp is made."""

    which: int
    number: Number


@dataclass(frozen=True, eq=False)
class Pattern:
    """The tree of a table, with blanks in place of all numbers, those in vectors included. None has 64 bits."""

    schema: Schema
    table: str
    tree: Mapping[str, Any]
    stamps: dict[tuple[bool, ...], Stamp] = field(default_factory=dict[tuple[bool, ...], "Stamp"], repr=False)
    """The bytes, by which of the numbers are written."""

    @cached_property
    def defaults(self) -> Sequence[Number | None]:
        """For each number what it is when it is not written; None in vectors, where all are."""
        found = dict(_defaults(self.schema, self.table, self.tree))
        return [found[index] for index in range(len(found))]

    @cached_property
    def has_fractions(self) -> bool:
        """Whether a default is a floating-point number, so that it has to be told from −0.0."""
        return any(isinstance(default, float) for default in self.defaults)

    def filled(self, entries: Sequence[Any]) -> dict[str, Any]:
        """The tree with something for each blank."""
        return _filled(self.tree, entries)


class Filled(NamedTuple):
    """A table by its pattern and the numbers for the blanks: written like the tree, in less time."""

    pattern: Pattern
    numbers: Sequence[Number]

    def tree(self) -> dict[str, Any]:
        """The tree that this is."""
        return self.pattern.filled(self.numbers)

    @property
    def written(self) -> tuple[bool, ...]:
        """Which of the numbers are written, because they are no defaults."""
        pattern = self.pattern
        return tuple(map(is_written if pattern.has_fractions else ne, self.numbers, pattern.defaults))


@dataclass(frozen=True)
class Stamp:
    """The bytes of a pattern of which certain numbers are written, wherever it is."""

    form: struct.Struct
    vtables: Sequence[tuple[bytes, int]]
    """The vtable of each table in it, and the table's place if the pattern ended where the buffer does."""
    rest: Sequence[bytes]
    """The bytes between offsets of vtables and numbers."""
    order: Callable[[Sequence[Any]], Sequence[Any]]
    """From the offsets of vtables, the numbers and the rest, one behind the other, to what is packed."""

    @staticmethod
    def of(data: bytes, vtables: Mapping[int, bytes], numbers: Mapping[int, tuple[str, int]], count: int) -> Stamp:
        """The stamp that prints `data`, with other numbers.

        `vtables` are those of the tables at these positions, `numbers` the `struct` codes and indices of the numbers at
        theirs, some of `count`.
        """
        codes: list[str] = []
        rest: list[bytes] = []
        order: list[int] = []
        tables: list[int] = []
        done = 0
        for at in (*sorted({*vtables, *numbers}), len(data)):
            if at > done:
                codes.append(f"{at - done}s")
                order.append(len(vtables) + count + len(rest))
                rest.append(data[done:at])
            if at == len(data):
                break
            if at in vtables:
                code = "i"
                order.append(len(tables))
                tables.append(at)
            else:
                code, index = numbers[at]
                order.append(len(vtables) + index)
            codes.append(code)
            done = at + struct.calcsize(f"<{code}")
        places = [(vtables[at], len(data) - at) for at in tables]
        return Stamp(struct.Struct(f"<{''.join(codes)}"), places, rest, itemgetter(*order))

    def print(self, numbers: Sequence[Number], end: int, vtables: Mapping[bytes, int]) -> bytes | None:
        """The bytes with these numbers at the place `end`; None where a vtable has no place yet.

        struct.error for a number that does not fit.
        """
        offsets: list[int] = []
        for vtable, place in self.vtables:
            found = vtables.get(vtable)
            if found is None:
                return None
            offsets.append(found - end - place)
        return self.form.pack(*self.order((*offsets, *numbers, *self.rest)))


def is_written(value: Number, default: Number | None) -> bool:
    """Whether a number stands in a file, because it is another one than the default: −0.0 is, though it equals 0."""
    return value != default or (value == 0 and isinstance(value, float) and math.copysign(1, value) < 0)


def _filled(value: Any, entries: Sequence[Any]) -> Any:
    if isinstance(value, Blank):
        return entries[value.which]
    if isinstance(value, dict):
        return {name: _filled(each, entries) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_filled(each, entries) for each in cast("list[Any]", value)]
    member, tree = value
    return type(value)(member, _filled(tree, entries))


def _defaults(schema: Schema, table: str, tree: Mapping[str, Any]) -> Iterator[tuple[int, Number | None]]:
    for item in schema.tables[table].fields:
        value = tree.get(item.name)
        if isinstance(value, Blank):
            yield value.which, item.default
        elif isinstance(value, dict):
            yield from _defaults(schema, item.type, cast("dict[str, Any]", value))
        elif isinstance(value, list):
            yield from ((blank.which, None) for blank in cast("list[Blank]", value))
        elif value is not None:
            member, content = value
            yield from _defaults(schema, schema.unions[item.type].members[member][1], content)
