"""FlatBuffers bytes ↔ plain trees, driven by a parsed schema.

A **tree** is what JSON would hold: a table is a dict by field name, a vector a list, a string a str, a `[ubyte]` vector
bytes (a memoryview of the buffer when read), a number or an enum an int, float or bool, and a union a `Tagged`
(member name, tree). A field that is absent is missing from the dict, except that reading fills in a scalar's default:
FlatBuffers does not tell a default from its absence.

`encode` is deterministic: the same tree gives the same bytes. `decode` trusts nothing: every offset and length is
checked before it is followed, and whatever is wrong is one FormatError.
The layout of the bytes: https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from mmap import mmap
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from flatbuffers import Builder, number_types

from xir.emitter.errors import FormatError
from xir.emitter.fbs import SCALARS, Field, FileSchema, Scalar, Table

Tree: TypeAlias = dict[str, Any]
Buffer: TypeAlias = bytes | bytearray | memoryview | mmap


class Tagged(NamedTuple):
    """A union's value: the member's name and its table's tree."""

    member: str
    value: Tree


MAX_DEPTH = 64
"""Nesting beyond this is refused; real schemas need under ten."""


def encode(schema: FileSchema, tree: Mapping[str, Any], root: str | None = None) -> bytes:
    """The FlatBuffers bytes of `tree`, a table named `root` (the schema's root type if None).

    The buffer carries the schema's file identifier. Raises FormatError for a field the schema does not have, a missing
    union member, or a number that does not fit its field.
    """
    root = root or schema.root
    writer = _Writer(schema)
    try:
        place = writer.table(root, tree)
    except FormatError as error:
        raise error.within(root) from None
    except RecursionError:
        raise FormatError("the tree is nested too deeply to be written", path=root) from None
    return writer.finish(place)


def decode(schema: FileSchema, buffer: Buffer, root: str | None = None, *, base: int = 0) -> Tree:
    """The tree in `buffer`, whose root table is `root` (the schema's root type if None).

    Checks the file identifier when the schema has one. `base` is added to the offsets that errors name, for a buffer
    that is part of a file. `[ubyte]` vectors are memoryviews of `buffer`, not copies.
    """
    root = root or schema.root
    reader = _Reader(schema, memoryview(buffer).toreadonly().cast("B"), base)
    if len(reader.data) < 8:
        raise FormatError(f"{len(reader.data)} bytes are too few for a FlatBuffer", offset=base, path=root)
    identifier = bytes(reader.data[4:8])
    if schema.identifier and identifier != schema.identifier.encode():
        raise FormatError(
            f"the file identifier is {identifier!r}, expected {schema.identifier!r}", offset=base + 4, path=root
        )
    return reader.table(root, reader.follow(0, root), root, 0)


class _Writer:
    """Drives FlatBuffers' own builder by the schema: what a table points at is written before the table.

    A *place* is a distance from the buffer's end, by which the builder knows what is written.
    Errors get their path on the way up, so that no path is built where nothing fails.
    """

    def __init__(self, schema: FileSchema):
        self.schema = schema
        self.builder: Any = Builder(1024)

    def finish(self, root: int) -> bytes:
        """The buffer, whose root table is at a place."""
        self.builder.Finish(root, file_identifier=self.schema.identifier.encode() or None)
        return bytes(self.builder.Output())

    def table(self, name: str, tree: Mapping[str, Any]) -> int:
        """Write a table behind what it points at; its place."""
        table = self.schema.tables[name]
        if not tree.keys() <= table.names:
            raise FormatError(f"{name} has no field named {', '.join(sorted(tree.keys() - table.names))}")
        present: list[tuple[Field, Any]] = []
        for item in table.fields:
            value = tree.get(item.name)
            if value is None or item.deprecated:
                continue
            if item.vector or item.scalar is None:
                try:
                    value = self.vector(item, value) if item.vector else self.referenced(item, value)
                except FormatError as error:
                    raise error.within(f".{item.name}") from None
            elif value == item.default and not _is_negative_zero(value):
                continue
            present.append((item, value))
        builder = self.builder
        builder.StartObject(table.slots)
        for item, value in present:
            slot = item.slot
            if item.scalar is not None and not item.vector:
                try:
                    builder.Prepend(_FLAGS[item.scalar.code], value)
                except _MISFITS as error:
                    raise _misfit(error).within(f".{item.name}") from None
            else:
                if isinstance(value, tuple):
                    tag, value = cast("tuple[int, int]", value)
                    builder.PrependUint8(tag)
                    builder.Slot(slot)
                    slot += 1
                builder.PrependUOffsetTRelative(value)
            builder.Slot(slot)
        return builder.EndObject()

    def referenced(self, item: Field, value: Any) -> int | tuple[int, int]:
        """Write the string, table or union that a field points at; its place, behind its tag if it is a union."""
        if item.type == "string":
            return self.string(value)
        if item.type in self.schema.tables:
            return self.table(item.type, value)
        member, content = cast(Tagged, value)
        found = self.schema.unions[item.type].members.get(member)
        if found is None:
            raise FormatError(f"{item.type} has no member {member}")
        return found[0], self.table(found[1], content)

    def string(self, value: str) -> int:
        """Write a string; its place."""
        try:
            return self.builder.CreateString(value)
        except UnicodeEncodeError:
            raise FormatError("a string has half of a surrogate pair, which is no character") from None

    def vector(self, item: Field, values: Any) -> int:
        """Write a vector; its place."""
        builder, scalar = self.builder, item.scalar
        if scalar is not None:
            is_raw = isinstance(values, bytes | bytearray | memoryview) and scalar.code == "B"
            array = np.frombuffer(values if is_raw else _pack(scalar, values), f"<{scalar.code}")
            builder.Prep(max(item.force_align, 4), array.nbytes)
            return builder.CreateNumpyVector(array)
        places = [self.element(item, index, value) for index, value in enumerate(values)]
        builder.StartVector(4, len(places), 4)
        for place in reversed(places):
            builder.PrependUOffsetTRelative(place)
        return builder.EndVector()

    def element(self, item: Field, index: int, value: Any) -> int:
        """Write an element that the vector points at; its place."""
        try:
            return self.string(value) if item.type == "string" else self.table(item.type, value)
        except FormatError as error:
            raise error.within(f"[{index}]") from None


_FLAGS: dict[str, Any] = {
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
"""What the builder calls the numbers of these `struct` codes."""
_MISFITS = (struct.error, OverflowError, TypeError)
"""What packing a value raises that its code cannot hold."""


def _pack(scalar: Scalar, values: Sequence[Any]) -> bytes:
    try:
        return struct.pack(f"<{len(values)}{scalar.code}", *values)
    except _MISFITS as error:
        raise _misfit(error) from None


def _misfit(error: Exception) -> FormatError:
    return FormatError(f"a value does not fit its field: {error}")


def _is_negative_zero(value: float) -> bool:
    """Whether a number equals 0 and is written where 0 is the default: −0.0."""
    return value == 0 and isinstance(value, float) and math.copysign(1, value) < 0


class _Reader:
    """Reads depth first with every access inside the buffer.

    Offsets may point anywhere, so a small buffer can describe a huge tree by naming one table many times. `budget`
    bounds the work by the size of the buffer: honest files share at most a few strings.
    """

    def __init__(self, schema: FileSchema, data: memoryview, base: int):
        self.schema = schema
        self.data = data
        self.base = base
        self.budget = 16 * len(data) + 1024

    def error(self, message: str, at: int, path: str) -> FormatError:
        return FormatError(message, offset=self.base + at, path=path)

    def take(self, at: int, size: int, path: str) -> memoryview:
        if at < 0 or at + size > len(self.data):
            raise self.error(f"{size} bytes are needed, the data ends at byte {self.base + len(self.data)}", at, path)
        return self.data[at : at + size]

    def spend(self, amount: int, at: int, path: str) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise self.error("the data refers to itself more often than a sound file does", at, path)

    def number(self, scalar: Scalar, at: int, path: str) -> Any:
        return struct.unpack("<" + scalar.code, self.take(at, scalar.size, path))[0]

    def follow(self, at: int, path: str) -> int:
        """The position that the unsigned offset stored at `at` points to."""
        target = at + self.number(SCALARS["uint"], at, path)
        if target == at or target >= len(self.data):
            raise self.error("an offset points outside the data", at, path)
        return target

    def table(self, name: str, at: int, path: str, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise self.error(f"tables are nested more than {MAX_DEPTH} deep", at, path)
        table = self.schema.tables[name]
        vtable = at - self.number(SCALARS["int"], at, path)
        vtable_size = self.number(SCALARS["ushort"], vtable, path)
        table_size = self.number(SCALARS["ushort"], vtable + 2, path)
        if vtable_size < 4 or vtable_size % 2:
            raise self.error(f"a vtable of {vtable_size} bytes is not valid", vtable, path)
        entries = struct.unpack(f"<{vtable_size // 2 - 2}H", self.take(vtable + 4, vtable_size - 4, path))
        self.take(at, table_size, path)
        self.spend(table_size + 4, at, path)
        tree: Tree = {}
        for item in table.fields:
            if not item.deprecated:
                self.field(table, item, entries, at, table_size, tree, f"{path}.{item.name}", depth)
        return tree

    def field(
        self,
        table: Table,
        item: Field,
        entries: tuple[int, ...],
        at: int,
        table_size: int,
        tree: Tree,
        path: str,
        depth: int,
    ) -> None:
        def position(slot: int, size: int) -> int | None:
            entry = entries[slot] if slot < len(entries) else 0
            if entry and not 4 <= entry <= table_size - size:
                raise self.error(f"the field lies outside its table ({table.name})", at, path)
            return at + entry if entry else None

        if item.type in self.schema.unions:
            tag_at, value_at = position(item.slot, 1), position(item.slot + 1, 4)
            tag = self.data[tag_at] if tag_at is not None else 0
            if tag == 0 or value_at is None:
                if tag:
                    raise self.error(f"{item.type} has the tag {tag} and no value", at, path)
                return
            found = self.schema.unions[item.type].by_tag(tag)
            if found is None:
                raise self.error(f"{item.type} has no member with the tag {tag}", at, path)
            tree[item.name] = Tagged(found[0], self.table(found[1], self.follow(value_at, path), path, depth + 1))
            return
        scalar = item.scalar
        if scalar is not None and not item.vector:
            value_at = position(item.slot, scalar.size)
            tree[item.name] = item.default if value_at is None else self.number(scalar, value_at, path)
            return
        value_at = position(item.slot, 4)
        if value_at is None:
            return
        target = self.follow(value_at, path)
        if item.vector:
            tree[item.name] = self.vector(item, scalar, target, path, depth)
        elif item.type == "string":
            tree[item.name] = self.string(target, path)
        else:
            tree[item.name] = self.table(item.type, target, path, depth + 1)

    def length(self, at: int, size: int, path: str) -> int:
        """The element count stored at `at`, after checking that so many elements of `size` bytes follow."""
        count = self.number(SCALARS["uint"], at, path)
        if count * size > len(self.data) - at - 4:
            raise self.error(f"a length of {count} reaches beyond the data", at, path)
        self.spend(count * size + 4, at, path)
        return count

    def string(self, at: int, path: str) -> str:
        count = self.length(at, 1, path)
        end = at + 4 + count
        if self.take(end, 1, path)[0]:
            raise self.error("a string does not end with a zero byte", end, path)
        try:
            return str(self.data[at + 4 : end], "utf-8")
        except UnicodeDecodeError:
            raise self.error("a string is not valid UTF-8", at + 4, path) from None

    def vector(self, item: Field, scalar: Scalar | None, at: int, path: str, depth: int) -> Any:
        size = scalar.size if scalar else 4
        count = self.length(at, size, path)
        start = at + 4
        if scalar is not None:
            content = self.data[start : start + count * size]
            return content if scalar.code == "B" else list(struct.unpack(f"<{count}{scalar.code}", content))
        places = [self.follow(start + 4 * i, path) for i in range(count)]
        if item.type == "string":
            return [self.string(place, f"{path}[{i}]") for i, place in enumerate(places)]
        return [self.table(item.type, place, f"{path}[{i}]", depth + 1) for i, place in enumerate(places)]
