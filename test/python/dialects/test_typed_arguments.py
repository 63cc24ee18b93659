"""The arguments of edge ops are what type checkers are told. `samples/typed_arguments.py` has what these find wrong."""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from collections.abc import Sequence
from typing import Any

import pytest
from reference.aten_calls import CASES, aten_call

from xir.dialects import edge
from xir.dialects.edge.accessors import annotation


def is_a(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says."""
    if isinstance(hint, types.UnionType):
        return any(is_a(value, each) for each in typing.get_args(hint))
    if typing.get_origin(hint) is Sequence:
        return isinstance(value, Sequence) and all(is_a(each, typing.get_args(hint)[0]) for each in value)
    return isinstance(value, hint) and not (isinstance(value, bool) and hint is int)


@pytest.mark.parametrize("name", sorted(CASES))
def test_arguments_are_what_they_are_annotated_as(name: str) -> None:
    for case in CASES[name]:
        op = aten_call(name, case).op
        for argument in op.schema.arguments:
            assert is_a(getattr(op, argument.name), annotation(argument.type)), argument
        arguments = {argument.name: getattr(op, argument.name) for argument in op.schema.arguments}
        again = type(op).build_from(arguments, op.result_types)
        assert again.properties == op.properties


def test_there_are_no_other_arguments() -> None:
    op: Any = aten_call("relu", CASES["relu"][0]).op
    with pytest.raises(AttributeError, match="'ReluOp' object has no attribute 'other'"):
        _ = op.other
    with pytest.raises(ValueError, match="aten::relu has no argument 'other'"):
        edge.op("relu")(self=op.self, other=op.self)


@pytest.mark.parametrize("name", sorted(name for name, op in edge.OPS.items() if op.row.infer is not None))
def test_inference_is_annotated_with_its_rows(name: str) -> None:
    """A table does not tell pyright which op a function of its rows is for."""
    op = edge.OPS[name]
    assert op.row.infer is not None
    annotation = next(iter(inspect.get_annotations(op.row.infer).values()))
    annotation = annotation if isinstance(annotation, str) else annotation.__name__
    classes = re.findall(r"ops\.(\w+)", union_named(annotation, op.row.infer) or annotation)
    assert op.__name__ in classes if classes else annotation == "EdgeOp"


def union_named(name: str, function: Any) -> str | None:
    """The union that a function's module gives a name, for type checkers alone."""
    module = inspect.getmodule(function)
    assert module is not None
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return ast.unparse(node.value)
    return None
