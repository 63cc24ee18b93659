"""Random trees of a schema, for property-based tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from xir.emitter.codec import Tagged, Tree
from xir.emitter.fbs import SCALARS, Field, FileSchema

_RANGES = {"b": 7, "B": 8, "h": 15, "H": 16, "i": 31, "I": 32, "q": 63, "Q": 64}


def trees(schema: FileSchema, table: str) -> st.SearchStrategy[Tree]:
    """Trees of `table`, with any of its fields present."""
    fields = {item.name: _values(schema, item) for item in schema.tables[table].fields if not item.deprecated}
    return st.fixed_dictionaries({}, optional=fields)


def _values(schema: FileSchema, item: Field) -> st.SearchStrategy[Any]:
    if item.type in schema.unions:
        return st.one_of(
            *(
                st.builds(Tagged, st.just(name), st.deferred(lambda table=table: trees(schema, table)))
                for name, (_, table) in schema.unions[item.type].members.items()
            )
        )
    if item.vector and item.type in ("ubyte", "uint8"):
        return st.binary(max_size=20)
    element = _elements(schema, item)
    return st.lists(element, max_size=3) if item.vector else element


def _elements(schema: FileSchema, item: Field) -> st.SearchStrategy[Any]:
    enum = schema.enums.get(item.type)
    scalar = enum.scalar if enum else SCALARS.get(item.type)
    if scalar is None:
        return st.text(max_size=5) if item.type == "string" else st.deferred(lambda: trees(schema, item.type))
    if scalar.code == "?":
        return st.booleans()
    if scalar.code in "fd":
        return st.floats(width=8 * scalar.size, allow_nan=False)  # pyright: ignore[reportArgumentType]
    bits = _RANGES[scalar.code]
    return st.integers(-(1 << bits) if scalar.code.islower() else 0, (1 << bits) - 1)


def with_defaults(schema: FileSchema, table: str, tree: Tree) -> Tree:
    """`tree` as a reader sees it: absent scalars have their defaults."""
    full: Tree = {}
    for item in schema.tables[table].fields:
        value = tree.get(item.name)
        is_scalar = item.type in SCALARS or item.type in schema.enums
        if isinstance(value, Tagged):
            member_table = schema.unions[item.type].members[value.member][1]
            full[item.name] = Tagged(value.member, with_defaults(schema, member_table, value.value))
        elif item.type in schema.tables and value is not None:
            nested = [with_defaults(schema, item.type, v) for v in (value if item.vector else [value])]
            full[item.name] = nested if item.vector else nested[0]
        elif value is not None:
            full[item.name] = value
        elif is_scalar and not item.vector and not item.deprecated:
            full[item.name] = item.default
    return full
