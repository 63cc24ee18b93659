"""The schema parser: what it understands, and what it refuses."""

from __future__ import annotations

import pytest

from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema, parse_schema

SCHEMA = """
// A comment.
namespace a.b;
file_identifier "ABCD";
file_extension "x";
enum Color : byte { Red, Green = 5, Blue }
union Shape { Circle, Square: Box = 7, Round: Circle }
table Circle { radius: float = 1.5; }
table Box { sides: [uint]; name: string; old: int (deprecated); }
table Root {
  before: ubyte;
  shape: Shape;
  after: long = -0x10;
  color: Color = Blue;
  flag: bool = true;
  data: [ubyte] (force_align: 16);
  boxes: [Box];
  limit: double = inf;
}
root_type Root;
"""


def test_everything_that_the_schemas_use():
    schema = parse_schema(SCHEMA)
    assert (schema.namespace, schema.identifier, schema.root) == ("a.b", "ABCD", "Root")
    assert schema.enums["Color"].members == {"Red": 0, "Green": 5, "Blue": 6}
    assert schema.unions["Shape"].members == {"Circle": (1, "Circle"), "Square": (7, "Box"), "Round": (8, "Circle")}
    assert [(f.name, f.slot) for f in schema.tables["Root"].fields] == [
        ("before", 0), ("shape", 1), ("after", 3), ("color", 4), ("flag", 5), ("data", 6), ("boxes", 7), ("limit", 8),
    ]  # fmt: skip
    assert schema.tables["Root"].slots == 9
    fields = {f.name: f for f in schema.tables["Root"].fields}
    assert [fields[name].default for name in ("after", "color", "flag", "limit")] == [-16, 6, True, float("inf")]
    assert (fields["data"].force_align, fields["data"].vector) == (16, True)
    assert [f.deprecated for f in schema.tables["Box"].fields] == [False, False, True]


def test_a_union_may_be_declared_after_its_use():
    schema = parse_schema("table A { u: U; x: int; } table B {} union U { B }")
    assert [(f.name, f.slot) for f in schema.tables["A"].fields] == [("u", 0), ("x", 2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("struct A { x: int; }", "<schema>:1: 'struct' is not a declaration"),
        ("table A {\n  x: int8x; }", "A.x is of the unknown type int8x"),
        ("table A { x: int }", "1: expected ;, found '}'"),
        ("table A { x: [U]; } table B {} union U { B }", "a vector of unions, which is not read"),
        ("table A { x: int (key); }", "the attribute key is not one"),
        ("table A {} table A {}", "A is declared twice"),
        ("union U { B }", "U.B is of the unknown table B"),
        ("table B {} union U { B = 3, C: B = 2 }", "union tags grow and end at 255; C has 2"),
        ("table B {} union U { B = 256 }", "union tags grow and end at 255; B has 256"),
        ("enum E : float { A }", "an enum cannot be stored as float"),
        ("enum E : byte { A = 1.5 }", "1.5 is not an integer"),
        ("table A { x: bool = maybe; }", "maybe is no value of bool"),
        ("table A { x: int = 1.5; }", "1.5 is no value of int"),
        ("root_type A;", "the root type A is not a table"),
        ("table A {", "the file ends where word should be"),
        ("table A { x: int; } ?", "cannot read '?'"),
    ],
)
def test_what_it_refuses(text: str, message: str):
    with pytest.raises(FormatError) as error:
        parse_schema(text)
    assert message in str(error.value)


@pytest.mark.parametrize(("name", "identifier"), [("program", "ET12"), ("xnnpack", "XN01")])
def test_the_projects_own_schemas(name: str, identifier: str):
    schema = load_schema(name)
    assert schema.identifier == identifier
    assert load_schema(name) is schema
