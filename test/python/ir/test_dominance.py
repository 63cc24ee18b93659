"""Dominance: the dominator tree, and the cost of the check. What it reports is in the lit tests."""

from collections.abc import Callable

import pytest
from reference.cost import assert_linear
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.dominance import immediate_dominators, verify_dominance
from xir.ir.parser import parse_module
from xir.ir.walking import ops_in


def region_of(edges: dict[str, str]) -> tuple[Region, dict[Block, str]]:
    """A region with a block for each letter, branching to the letters of its value."""
    blocks = "\n".join(
        f'^{name}:\n  "t.br"() [{", ".join("^" + to for to in edges[name])}] : () -> ()'
        if edges[name]
        else f'^{name}:\n  "t.end"() : () -> ()'
        for name in edges
    )
    module = parse_module(XirContext(allow_unregistered=True), f'"t.op"() ({{\n{blocks}\n}}) : () -> ()')
    operation = module.body.block.first_op
    assert operation is not None
    region = operation.regions[0]
    return region, dict(zip(region.blocks, edges, strict=True))


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ({"a": ""}, {"a": None}),
        ({"a": "bc", "b": "d", "c": "d", "d": ""}, {"a": None, "b": "a", "c": "a", "d": "a"}),
        ({"a": "b", "b": "cd", "c": "b", "d": ""}, {"a": None, "b": "a", "c": "b", "d": "b"}),
        ({"a": "bc", "b": "c", "c": "b"}, {"a": None, "b": "a", "c": "a"}),  # irreducible
        ({"a": "c", "b": "d", "c": "b", "d": ""}, {"a": None, "c": "a", "b": "c", "d": "b"}),
        ({"a": "", "b": "a"}, {"a": None}),  # nothing reaches b
        ({"a": "b", "b": "b"}, {"a": None, "b": "a"}),
    ],
)
def test_immediate_dominators(edges: dict[str, str], expected: dict[str, str | None]) -> None:
    region, names = region_of(edges)
    found = immediate_dominators(region)
    assert {names[block]: None if idom is None else names[idom] for block, idom in found.items()} == expected


def test_an_empty_region_has_none() -> None:
    assert immediate_dominators(Region()) == {}


def test_an_isolated_region_sees_no_outer_value() -> None:
    text = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}"""
    module = parse_module(XirContext(), text, "m.mlir")
    (function,), (unary,) = ops_in(module, FuncOp), ops_in(module, xnnpack.UnaryOp)
    unary.operands[0] = function.body.block.args[0]
    expected = (
        "m.mlir:5:10: error: 'xnnpack.unary' op operand #0 is defined outside of 'xnnpack.subgraph', "
        "which sees no outer value\nm.mlir:2:14: note: operand defined as a block argument"
    )
    with pytest.raises(DiagnosticError) as raised:
        verify_dominance(module)
    assert str(raised.value) == expected


@pytest.mark.parametrize("shape", ["one block", "a chain of blocks", "one wide branch"])
def test_the_check_takes_linear_time(shape: str) -> None:
    def prepare(count: int) -> Callable[[], object]:
        module = parse_module(XirContext(allow_unregistered=True), text_of(shape, count))
        return lambda: verify_dominance(module)

    assert_linear(prepare, 300, 2400)


def text_of(shape: str, count: int) -> str:
    """A function of `count` ops in blocks of the given shape."""
    if shape == "one block":
        lines = [f'%v{i + 1} = "t.op"(%v{i}) : (i32) -> i32' for i in range(count)]
    elif shape == "a chain of blocks":
        lines = [f'%v{i + 1} = "t.op"(%v{i}) : (i32) -> i32\n"t.br"() [^b{i}] : () -> ()\n^b{i}:' for i in range(count)]
    else:
        targets = ", ".join(f"^b{i}" for i in range(count))
        lines = [f'"t.br"() [{targets}] : () -> ()']
        lines += [f'^b{i}:\n%v{i + 1} = "t.op"(%v0) : (i32) -> i32\n"t.end"() : () -> ()' for i in range(count)]
        lines += ["^last:"]
    return "func.func @f(%v0: i32) {\n" + "\n".join(lines) + "\nfunc.return\n}"
