"""Rules and decompositions ask for arguments by name: each name is one of the schemas of the ops that they are for."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from xir.dialects import edge
from xir.transforms.edge.decompositions import DECOMPOSITIONS
from xir.transforms.xnnpack.legalizations import RULES

ACCESSORS = {"tensor", "required", "tensors", "value"}
"""Of an edge op, which take the name first."""

HELPERS = {"operand": 1, "promoted": 2, "argument": 2}
"""Functions of rules, and which argument is the name."""

Named = dict[Callable[..., Any], list[str]]


def by_function(registered: dict[str, Callable[..., Any]]) -> Named:
    found: Named = {}
    for name, function in registered.items():
        if function.__name__ != "<lambda>":
            found.setdefault(inspect.unwrap(function), []).append(name)
    return found


def names_asked(tree: ast.AST) -> Iterator[str]:
    """The literal names in `op.value("dim")`, `operand(op, "self")` and their like, for the op called `op`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Attribute(value=ast.Name(id="op"), attr=attr) if attr in ACCESSORS:
                asked = node.args[0]
            case ast.Name(id=name) if name in HELPERS and len(node.args) > HELPERS[name]:
                asked = node.args[HELPERS[name]]
            case _:
                continue
        choices = [asked.body, asked.orelse] if isinstance(asked, ast.IfExp) else [asked]
        yield from (each.value for each in choices if isinstance(each, ast.Constant) and isinstance(each.value, str))


def test_names_are_found() -> None:
    source = 'op.value("dim"); operand(op, "self"); other.value("x"); op.value("a" if x else "b"); f("c")'
    assert list(names_asked(ast.parse(source))) == ["dim", "self", "a", "b"]


@pytest.mark.parametrize(
    ("function", "ops"),
    [*by_function(dict(RULES)).items(), *by_function(dict(DECOMPOSITIONS)).items()],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_each_name_is_an_argument(function: Callable[..., Any], ops: list[str]) -> None:
    arguments = {argument.name for op in ops for argument in edge.OPS[op].row.schema.arguments}
    asked = set(names_asked(ast.parse(textwrap.dedent(inspect.getsource(function)))))
    assert asked <= arguments, f"{function.__name__} asks for {sorted(asked - arguments)}"
