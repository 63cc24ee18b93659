"""Trees as FlatBuffers' own builder writes them, number by number: what `encode` is compared with."""

from __future__ import annotations

from typing import Any, cast

import flatbuffers
from flatbuffers import number_types

from xir.emitter.codec import Tagged, Tree
from xir.emitter.fbs import Field, Scalar, Schema

_FLAGS = {
    "?": number_types.BoolFlags,
    "b": number_types.Int8Flags,
    "B": number_types.Uint8Flags,
    "h": number_types.Int16Flags,
    "H": number_types.Uint16Flags,
    "i": number_types.Int32Flags,
    "I": number_types.Uint32Flags,
    "f": number_types.Float32Flags,
    "q": number_types.Int64Flags,
    "Q": number_types.Uint64Flags,
    "d": number_types.Float64Flags,
}


def encode_by_library(schema: Schema, tree: Tree) -> bytes:
    """The bytes of a tree of the schema's root type."""
    builder = cast(Any, flatbuffers.Builder(0))
    root = _table(builder, schema, schema.root, tree)
    builder.Finish(root, file_identifier=schema.identifier.encode() if schema.identifier else None)
    return bytes(builder.Output())


def _table(builder: Any, schema: Schema, name: str, tree: Tree) -> int:
    table = schema.tables[name]
    present = [item for item in table.fields if tree.get(item.name) is not None and not item.deprecated]
    places = {
        item.name: _target(builder, schema, item, tree[item.name])
        for item in present
        if item.vector or item.scalar is None
    }
    builder.StartObject(table.slots)
    for item in present:
        value, slot = tree[item.name], item.slot
        if item.name not in places:
            assert item.scalar is not None
            # The library takes -0.0 for 0.0, which it equals.
            default = None if str(value) == "-0.0" else item.default
            builder.PrependSlot(_FLAGS[item.scalar.code], slot, value, default)
            continue
        if isinstance(value, Tagged):
            builder.PrependUint8Slot(slot, schema.unions[item.type].members[value.member][0], 0)
            slot += 1
        builder.PrependUOffsetTRelativeSlot(slot, places[item.name], 0)
    return builder.EndObject()


def _target(builder: Any, schema: Schema, item: Field, value: Any) -> int:
    if not item.vector:
        return _element(builder, schema, item, value)
    if item.scalar is None:
        places = [_element(builder, schema, item, each) for each in value]
        builder.StartVector(4, len(places), 4)
        for place in reversed(places):
            builder.PrependUOffsetTRelative(place)
    else:
        scalar: Scalar = item.scalar
        builder.StartVector(scalar.size, len(value), max(item.force_align, scalar.size))
        for each in reversed(value):
            builder.Prepend(_FLAGS[scalar.code], each)
    return builder.EndVector()


def _element(builder: Any, schema: Schema, item: Field, value: Any) -> int:
    if item.type == "string":
        return builder.CreateString(value)
    if isinstance(value, Tagged):
        return _table(builder, schema, schema.unions[item.type].members[value.member][1], value.value)
    return _table(builder, schema, item.type, value)
