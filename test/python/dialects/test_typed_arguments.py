"""The arguments of edge ops are what type checkers are told; `importer/test_edge_ops.py` compares them in each call."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import pytest
from reference.aten_calls import CASES, aten_call

from xir.dialects import edge


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
