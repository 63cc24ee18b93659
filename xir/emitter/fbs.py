"""A reader for the part of the FlatBuffers schema language that the project's schemas use.

Understood: `namespace`, `enum`, `union` (members may carry an alias and an explicit tag: `Name: Table = 7`), `table`
(scalar, enum, string, table, union and vector fields; defaults; `deprecated`, `force_align`), `root_type`,
`file_identifier`, `file_extension`, and `//` comments. Structs, includes and nested vectors are not, and are an error
that names the line. The language: https://flatbuffers.dev/schema/.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from xir.emitter.errors import FormatError

_SCHEMAS = Path(__file__).parent.parent / "schema"


class Scalar(NamedTuple):
    """A fixed-size number: its `struct` code and its size in bytes."""

    code: str
    size: int


# Both spellings of each type, as the language has them.
SCALARS: dict[str, Scalar] = {
    name: Scalar(code, size)
    for names, code, size in (
        ("bool", "?", 1),
        ("byte int8", "b", 1),
        ("ubyte uint8", "B", 1),
        ("short int16", "h", 2),
        ("ushort uint16", "H", 2),
        ("int int32", "i", 4),
        ("uint uint32", "I", 4),
        ("float float32", "f", 4),
        ("long int64", "q", 8),
        ("ulong uint64", "Q", 8),
        ("double float64", "d", 8),
    )
    for name in names.split()
}


@dataclass(frozen=True)
class Enum:
    """A named set of integers, stored as `scalar`."""

    name: str
    scalar: Scalar
    members: dict[str, int]

    def name_of(self, value: int) -> str | None:
        """The member that stands for `value`, or None."""
        return next((name for name, number in self.members.items() if number == value), None)


@dataclass(frozen=True)
class Union:
    """One of several tables. `members` maps a member's name to its tag and its table's name; tag 0 is "none"."""

    name: str
    members: dict[str, tuple[int, str]]

    def by_tag(self, tag: int) -> tuple[str, str] | None:
        """The name and the table of the member with this tag, or None."""
        return next(((name, table) for name, (number, table) in self.members.items() if number == tag), None)


@dataclass(frozen=True)
class Field:
    """One field of a table.

    `type` names a scalar, an enum, a union, a table, or `string`; `vector` says that there are many of it. A union
    field takes two slots: `slot` is the tag's, `slot + 1` the value's.
    """

    name: str
    type: str
    vector: bool
    slot: int
    default: int | float | bool
    force_align: int
    deprecated: bool
    scalar: Scalar | None = None
    """How a number or an enum is stored, by itself or in a vector; None for all else."""


@dataclass(frozen=True)
class Table:
    """A table's fields in the order of the schema, and how many slots they take."""

    name: str
    fields: tuple[Field, ...]
    slots: int

    @cached_property
    def names(self) -> frozenset[str]:
        """The fields' names."""
        return frozenset(item.name for item in self.fields)


@dataclass
class FileSchema:
    """All that one `.fbs` file declares."""

    root: str = ""
    identifier: str = ""
    namespace: str = ""
    enums: dict[str, Enum] = field(default_factory=dict[str, Enum])
    unions: dict[str, Union] = field(default_factory=dict[str, Union])
    tables: dict[str, Table] = field(default_factory=dict[str, Table])


@cache
def load_schema(name: str) -> FileSchema:
    """The parsed `xir/schema/<name>.fbs`."""
    path = _SCHEMAS / f"{name}.fbs"
    return parse_schema(path.read_text(encoding="utf-8"), path.name)


def parse_schema(text: str, source: str = "<schema>") -> FileSchema:
    """Parse the text of one `.fbs` file. `source` names it in errors, which are FormatError."""
    return _Parser(text, source).parse()


_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*)
      | (?P<number>[-+]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf\b|nan\b))
      | (?P<word>[A-Za-z_][A-Za-z0-9_.]*)
      | (?P<string>"[^"\n]*")
      | (?P<mark>[{}\[\]():;,=])""",
    re.VERBOSE,
)


class _Parser:
    def __init__(self, text: str, source: str):
        self.text, self.source = text, source
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        self.schema = FileSchema()

    def parse(self) -> FileSchema:
        self.tokenize()
        declarations = {
            "namespace": self.namespace,
            "enum": self.enum,
            "union": self.union,
            "table": self.table,
            "root_type": self.root_type,
            "file_identifier": self.file_identifier,
            "file_extension": self.file_extension,
        }
        while self.at < len(self.tokens):
            word = self.expect("word")
            if word not in declarations:
                raise self.error(f"'{word}' is not a declaration this reader knows", self.at - 1)
            declarations[word]()
        self.check_names()
        self.number_slots()
        return self.schema

    def tokenize(self) -> None:
        position = 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                line = self.text.count("\n", 0, position) + 1
                raise FormatError(f"{self.source}:{line}: cannot read {self.text[position : position + 10]!r}")
            if match.lastgroup != "skip":
                self.tokens.append((str(match.lastgroup), match.group(), position))
            position = match.end()

    def error(self, message: str, at: int) -> FormatError:
        position = self.tokens[at][2] if at < len(self.tokens) else len(self.text)
        line = self.text.count("\n", 0, position) + 1
        return FormatError(f"{self.source}:{line}: {message}")

    def expect(self, kind: str, text: str | None = None) -> str:
        if self.at >= len(self.tokens):
            raise self.error(f"the file ends where {text or kind} should be", self.at)
        found_kind, found, _ = self.tokens[self.at]
        if found_kind != kind or (text is not None and found != text):
            raise self.error(f"expected {text or kind}, found {found!r}", self.at)
        self.at += 1
        return found

    def accept(self, text: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at][1] == text:
            self.at += 1
            return True
        return False

    def namespace(self) -> None:
        self.schema.namespace = self.expect("word")
        self.expect("mark", ";")

    def root_type(self) -> None:
        self.schema.root = self.expect("word")
        self.expect("mark", ";")

    def file_identifier(self) -> None:
        self.schema.identifier = self.expect("string").strip('"')
        self.expect("mark", ";")

    def file_extension(self) -> None:
        self.expect("string")
        self.expect("mark", ";")

    def integer(self) -> int:
        text = self.expect("number")
        try:
            return int(text, 0)
        except ValueError:
            raise self.error(f"{text} is not an integer", self.at - 1) from None

    def declared(self) -> str:
        name = self.expect("word")
        if name in self.schema.enums or name in self.schema.unions or name in self.schema.tables:
            raise self.error(f"{name} is declared twice", self.at - 1)
        return name

    def enum(self) -> None:
        name = self.declared()
        self.expect("mark", ":")
        underlying = self.expect("word")
        scalar = SCALARS.get(underlying)
        if scalar is None or scalar.code in "?fd":
            raise self.error(f"an enum cannot be stored as {underlying}", self.at - 1)
        self.expect("mark", "{")
        members: dict[str, int] = {}
        following = 0
        while not self.accept("}"):
            member = self.expect("word")
            following = self.integer() if self.accept("=") else following
            members[member] = following
            following += 1
            if not self.accept(","):
                self.expect("mark", "}")
                break
        self.schema.enums[name] = Enum(name, scalar, members)

    def union(self) -> None:
        name = self.declared()
        self.expect("mark", "{")
        members: dict[str, tuple[int, str]] = {}
        following = 1
        while not self.accept("}"):
            member = self.expect("word")
            table = self.expect("word") if self.accept(":") else member
            tag = self.integer() if self.accept("=") else following
            if not following <= tag <= 255:
                raise self.error(f"union tags grow and end at 255; {member} has {tag}", self.at - 1)
            members[member] = (tag, table)
            following = tag + 1
            if not self.accept(","):
                self.expect("mark", "}")
                break
        self.schema.unions[name] = Union(name, members)

    def table(self) -> None:
        name = self.declared()
        self.expect("mark", "{")
        fields: list[Field] = []
        while not self.accept("}"):
            fields.append(self.field())
        self.schema.tables[name] = Table(name, tuple(fields), len(fields))

    def field(self) -> Field:
        name = self.expect("word")
        self.expect("mark", ":")
        vector = self.accept("[")
        kind = self.expect("word")
        if vector:
            self.expect("mark", "]")
        default: int | float | bool = False if kind == "bool" else 0.0 if kind in ("float", "double") else 0
        if self.accept("="):
            default = self.default(kind)
        attributes = self.attributes()
        self.expect("mark", ";")
        return Field(
            name, kind, vector, -1, default, int(attributes.get("force_align") or 1), "deprecated" in attributes
        )

    def default(self, kind: str) -> int | float | bool:
        at = self.at
        if self.tokens[at : at + 1] and self.tokens[at][0] == "word":
            word = self.expect("word")
            if kind == "bool" and word in ("true", "false"):
                return word == "true"
            if kind in ("float", "double") and word in ("inf", "nan"):
                return float(word)
            enum = self.schema.enums.get(kind)
            if enum is not None and word in enum.members:
                return enum.members[word]
            raise self.error(f"{word} is no value of {kind}", at)
        text = self.expect("number")
        try:
            return float(text) if kind in ("float", "double") else int(text, 0)
        except ValueError:
            raise self.error(f"{text} is no value of {kind}", at) from None

    def attributes(self) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        if not self.accept("("):
            return found
        while not self.accept(")"):
            name = self.expect("word")
            if name not in ("deprecated", "force_align"):
                raise self.error(f"the attribute {name} is not one this reader knows", self.at - 1)
            found[name] = self.expect("number") if self.accept(":") else None
            if not self.accept(","):
                self.expect("mark", ")")
                break
        return found

    def check_names(self) -> None:
        schema = self.schema
        for union in schema.unions.values():
            for member, (_, table) in union.members.items():
                if table not in schema.tables:
                    raise FormatError(f"{self.source}: {union.name}.{member} is of the unknown table {table}")
        for table in schema.tables.values():
            for item in table.fields:
                known = item.type in SCALARS or item.type == "string"
                if not (known or item.type in schema.enums or item.type in schema.unions or item.type in schema.tables):
                    raise FormatError(f"{self.source}: {table.name}.{item.name} is of the unknown type {item.type}")
                if item.vector and item.type in schema.unions:
                    raise FormatError(
                        f"{self.source}: {table.name}.{item.name} is a vector of unions, which is not read"
                    )
        if schema.root and schema.root not in schema.tables:
            raise FormatError(f"{self.source}: the root type {schema.root} is not a table")

    def number_slots(self) -> None:
        # Last, because a union takes two slots, and what a field names may be declared after the table that holds it.
        for table in self.schema.tables.values():
            slot, fields = 0, list[Field]()
            for item in table.fields:
                enum = self.schema.enums.get(item.type)
                fields.append(replace(item, slot=slot, scalar=enum.scalar if enum else SCALARS.get(item.type)))
                slot += 2 if item.type in self.schema.unions else 1
            self.schema.tables[table.name] = Table(table.name, tuple(fields), slot)
