"""FlatBuffers bytes ↔ plain trees, driven by a parsed schema.

A **tree** is what JSON would hold: a table is a dict by field name, a vector a list, a string a str, a `[ubyte]` vector
bytes (a memoryview of the buffer when read), a number or an enum an int, float or bool, and a union a `Tagged`
(member name, tree). A field that is absent is missing from the dict, except that reading fills in a scalar's default:
FlatBuffers does not tell a default from its absence. A table may also be written as a `Filled` pattern (`stamps.py`).

`encode` is deterministic: the same tree gives the same bytes. `decode` trusts nothing: every offset and length is
checked before it is followed, and whatever is wrong is one FormatError.
The layout of the bytes: https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from mmap import mmap
from typing import Any, NamedTuple, TypeAlias, cast

from xir.emitter.errors import FormatError
from xir.emitter.fbs import SCALARS, Field, Scalar, Schema, Table
from xir.emitter.stamps import Entry, Filled, Stamp, is_written
from xir.emitter.table_layout import PERIOD, Fields, table_layout

Tree: TypeAlias = dict[str, Any]
Buffer: TypeAlias = bytes | bytearray | memoryview | mmap


class Tagged(NamedTuple):
    """A union's value: the member's name and its table's tree."""

    member: str
    value: Tree


MAX_DEPTH = 64
"""Nesting beyond this is refused; real schemas need under ten."""


def encode(schema: Schema, tree: Mapping[str, Any], root: str | None = None) -> bytes:
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


def decode(schema: Schema, buffer: Buffer, root: str | None = None, *, base: int = 0) -> Tree:
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
    """Builds depth first and from the end to the beginning, as FlatBuffers' own builders do and with the same bytes:
    offsets point forward, so what a table points at is written before the table. A *place* is a distance from the end.

    The library's builder for Python writes number by number, which takes almost twice as long.
    Errors get their path on the way up, so that no path is built where nothing fails.
    """

    def __init__(self, schema: Schema):
        self.schema = schema
        self.parts: list[Buffer] = []
        """What is written so far, the last part first."""
        self.size = 0
        self.alignment = 4
        """The largest alignment of anything in the buffer, in bytes."""
        self.vtables: dict[bytes, int] = {}
        """The place of each vtable, which tables of one layout share."""

    def prepend(self, *parts: Buffer, alignment: int, before: int = 0) -> int:
        """Write parts, the last first, so that the byte `before` bytes ahead of them is aligned; the place they are."""
        written = sum(map(len, parts))
        padding = -(self.size + written + before) % alignment
        if padding:
            self.parts.append(bytes(padding))
        self.parts += reversed(parts)
        self.size += padding + written
        self.alignment = max(self.alignment, alignment)
        return self.size

    def finish(self, root: int) -> bytes:
        """The buffer, whose root table is at a place."""
        identifier = self.schema.identifier.encode()
        self.prepend(identifier, alignment=self.alignment, before=4)
        self.prepend(_UINT.pack(self.size + 4 - root), alignment=4)
        return b"".join(reversed(self.parts))

    def filled(self, filled: Filled) -> int:
        """Write a table by the stamp of its pattern; its place."""
        pattern, numbers = filled
        data = None
        # Behind a vtable the buffer may end within a word.
        if self.size % 4 == 0:
            written = filled.written
            if (stamp := pattern.stamps.get(written)) is None:
                stamp = pattern.stamps[written] = _Recorder(self.schema).stamp(filled)
            try:
                data = stamp.print(numbers, self.size, self.vtables)
            except _MISFITS:
                data = None
        if data is None:
            return self.table(pattern.table, filled.tree())
        self.parts.append(data)
        self.size += len(data)
        return self.size

    def table(self, name: str, tree: Mapping[str, Any] | Filled) -> int:
        """Write a table behind what it points at; its place."""
        if isinstance(tree, Filled):
            return self.filled(tree)
        table = self.schema.tables[name]
        if not tree.keys() <= table.names:
            raise FormatError(f"{name} has no field named {', '.join(sorted(tree.keys() - table.names))}")
        fields: list[tuple[int, Scalar | None]] = []
        values: list[Any] = []
        for item in table.fields:
            value = tree.get(item.name)
            if value is None or item.deprecated:
                continue
            if item.scalar is None or item.vector:
                try:
                    target = self.vector(item, value) if item.vector else self.referenced(item, value)
                except FormatError as error:
                    raise error.within(f".{item.name}") from None
                if isinstance(target, tuple):
                    fields += ((item.slot, _TAG), (item.slot + 1, None))
                    values += target
                else:
                    fields.append((item.slot, None))
                    values.append(target)
            elif is_written(value, item.default):
                fields.append((item.slot, item.scalar))
                values.append(value)
        return self.fixed(table, tuple(fields), values)

    def fixed(self, table: Table, fields: Fields, values: list[Any]) -> int:
        """Write what a table holds itself: its numbers, and the offsets of what is at the places among `values`."""
        end = self.size
        layout = table_layout(fields, end % PERIOD)
        for position, before in layout.offsets:
            values[position] = end + before - values[position]
        at = end + layout.form.size
        vtable = self.vtables.get(layout.vtable)
        offset = len(layout.vtable) if vtable is None else vtable - at
        values.reverse()
        try:
            self.parts.append(layout.form.pack(offset, *values))
        except _MISFITS:
            raise _misfit(table, fields, values[::-1]) from None
        self.size = at
        self.alignment = max(self.alignment, layout.alignment)
        if vtable is None:
            self.parts.append(layout.vtable)
            self.size += len(layout.vtable)
            self.vtables[layout.vtable] = self.size
        return at

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
        """Write a string, a zero byte behind it; its place."""
        try:
            data = value.encode()
        except UnicodeEncodeError:
            raise FormatError("a string has half of a surrogate pair, which is no character") from None
        return self.prepend(_UINT.pack(len(data)), data, b"\0", alignment=4)

    def vector(self, item: Field, values: Any) -> int:
        """Write a vector, its length before it; its place."""
        scalar = item.scalar
        if scalar is not None:
            is_raw = isinstance(values, bytes | bytearray | memoryview) and scalar.code == "B"
            data = memoryview(values).cast("B") if is_raw else _pack(scalar, values)
            self.prepend(data, alignment=max(item.force_align, scalar.size, 4))
            return self.prepend(_UINT.pack(len(data) // scalar.size), alignment=4)
        places = [self.element(item, index, value) for index, value in enumerate(values)]
        # An element says how far behind itself its target lies.
        end = self.size + -self.size % 4 + 4 * len(places)
        offsets = [end - 4 * index - place for index, place in enumerate(places)]
        return self.prepend(_UINT.pack(len(places)), _pack(SCALARS["uint"], offsets), alignment=4)

    def element(self, item: Field, index: int, value: Any) -> int:
        """Write an element that the vector points at; its place."""
        try:
            return self.string(value) if item.type == "string" else self.table(item.type, value)
        except FormatError as error:
            raise error.within(f"[{index}]") from None


class _Recorder(_Writer):
    """Takes note of where the entries of a pattern, and its tables, are written."""

    def __init__(self, schema: Schema):
        super().__init__(schema)
        self.tables: dict[int, bytes] = {}
        """The vtables of the tables at these places."""
        self.entries: dict[int, tuple[str, int]] = {}
        """The codes and indices of the numbers at these places."""

    def stamp(self, filled: Filled) -> Stamp:
        """The stamp of a pattern with such numbers."""
        numbers, layouts = filled.numbers, -1
        while len(self.vtables) > layouts:
            # Once more behind whole words, until nothing brings a vtable along.
            layouts = len(self.vtables)
            self.table(filled.pattern.table, filled.tree())
            self.prepend(alignment=4)
        first = len(self.parts)
        entries = [
            Entry(*each) if written else each[1]
            for each, written in zip(enumerate(numbers), filled.written, strict=True)
        ]
        self.tables.clear()
        self.table(filled.pattern.table, filled.pattern.filled(entries))
        assert self.alignment == 4, "a stamp holds no numbers of 64 bits"
        vtables = {self.size - place: vtable for place, vtable in self.tables.items()}
        found = {self.size - place: entry for place, entry in self.entries.items()}
        return Stamp.of(b"".join(reversed(self.parts[first:])), vtables, found, len(numbers))

    def fixed(self, table: Table, fields: Fields, values: list[Any]) -> int:
        layout = table_layout(fields, self.size % PERIOD)
        at = super().fixed(table, fields, [each.number if isinstance(each, Entry) else each for each in values])
        self.tables[at] = layout.vtable
        for (slot, scalar), each in zip(fields, values, strict=True):
            if isinstance(each, Entry):
                assert scalar is not None
                (offset,) = struct.unpack_from("<H", layout.vtable, 4 + 2 * slot)
                self.entries[at - offset] = scalar.code, each.which
        return at

    def vector(self, item: Field, values: Any) -> int:
        if item.scalar is None or not values or not isinstance(values[0], Entry):
            return super().vector(item, values)
        at = super().vector(item, [entry.number for entry in values])
        for position, entry in enumerate(values):
            self.entries[at - 4 - position * item.scalar.size] = item.scalar.code, entry.which
        return at


_UINT = struct.Struct("<I")
_TAG = SCALARS["ubyte"]
_MISFITS = (struct.error, OverflowError, TypeError)
"""What packing a value raises that its code cannot hold."""


def _pack(scalar: Scalar, values: Sequence[Any]) -> bytes:
    try:
        return struct.pack(f"<{len(values)}{scalar.code}", *values)
    except _MISFITS as error:
        raise FormatError(f"a value does not fit its field: {error}") from None


def _misfit(table: Table, fields: Fields, values: Sequence[Any]) -> FormatError:
    """The error of the first value that does not fit its field."""
    names = {item.slot: item.name for item in table.fields}
    for (slot, scalar), value in zip(fields, values, strict=True):
        try:
            _pack(scalar or SCALARS["uint"], (value,))
        except FormatError as error:
            return error.within(f".{names[slot]}")
    raise AssertionError("each value fits its field")


class _Reader:
    """Reads depth first with every access inside the buffer.

    Offsets may point anywhere, so a small buffer can describe a huge tree by naming one table many times. `budget`
    bounds the work by the size of the buffer: honest files share at most a few strings.
    """

    def __init__(self, schema: Schema, data: memoryview, base: int):
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
