"""Op interfaces: every node decides each, and no pass keeps a list of op classes of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeGuard

import pytest
from xdsl.ir import Operation
from xdsl.irdl import traits_def

from xir.dialects import xnnpack
from xir.dialects.xnnpack import NODE_OPS, NodeOp
from xir.dialects.xnnpack.interfaces import Decided, Movement, MovesElements, decide

ROOT = Path(__file__).parents[3]


def undecided(ops: Iterable[type[Operation]]) -> list[str]:
    return [op.name for op in ops if not op.has_trait(Decided)]


def test_each_node_decides() -> None:
    assert undecided(NODE_OPS) == []


def test_a_node_that_forgets_is_found() -> None:
    class Forgetful(NodeOp):
        name = "xnnpack.forgetful"
        traits = traits_def()

    assert undecided([Forgetful]) == ["xnnpack.forgetful"]


@pytest.mark.parametrize("left_out", ["movement", "layout", "elementwise", "boxes"])
def test_an_interface_cannot_be_left_out(left_out: str) -> None:
    given = {"movement": None, "layout": None, "elementwise": False, "boxes": None}
    del given[left_out]
    with pytest.raises(TypeError, match=left_out):
        decide(**given)  # pyright: ignore[reportArgumentType]


def test_base_classes_are_decided_by_fields() -> None:
    for op in NODE_OPS:
        names = {name for name, _ in op.get_irdl_definition().operands}
        assert issubclass(op, xnnpack.WeightedOp) == ("filter" in names), op.name
        assert issubclass(op, xnnpack.BoundedOp) == (op.WIRE.bounds != "none"), op.name


def test_what_moves_elements() -> None:
    """An op with one type for operand and result may still compute; those that do not are these."""
    moving = {op.name: movement.movement for op in NODE_OPS if (movement := op.get_trait(MovesElements)) is not None}
    assert moving == {
        "xnnpack.copy": Movement.PERMUTES,
        "xnnpack.static_transpose": Movement.PERMUTES,
        "xnnpack.static_reshape": Movement.PERMUTES,
        "xnnpack.static_slice": Movement.TAKES,
        "xnnpack.static_constant_pad": Movement.JOINS,
        "xnnpack.concatenate": Movement.JOINS,
        "xnnpack.max_pooling2d": Movement.PICKS,
    }


def class_lists(tree: ast.AST) -> Iterator[int]:
    """The lines of tuples, lists, sets and `isinstance` unions of three or more op classes; of two, where named."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Tuple | ast.List | ast.Set):
            classes = [each for each in node.value.elts if is_op_class(each)]
            if len(classes) > 1:
                yield node.lineno
        elif is_isinstance(node) and len([each for each in ast.walk(node.args[1]) if is_op_class(each)]) > 2:
            yield node.lineno


def is_isinstance(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"


def is_op_class(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.endswith("Op") and name != "Op"


def test_a_list_of_classes_is_found() -> None:
    source = "MOVES = (xnnpack.CopyOp, xnnpack.ConcatenateOp)\nisinstance(x, AOp | BOp | COp)\nisinstance(x, AOp | BOp)"
    assert list(class_lists(ast.parse(source))) == [1, 2]


def test_no_pass_lists_op_classes() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "transforms").rglob("*.py"))}
    assert [f"{path.relative_to(ROOT)}:{line}" for path, tree in trees.items() for line in class_lists(tree)] == []
