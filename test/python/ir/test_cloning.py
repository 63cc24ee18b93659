"""Copies of modules: equal in everything, and independent."""

from xir.ir.cloning import clone_module
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.printer import module_to_text
from xir.ir.verifier import verify

PROGRAM = """
func.func @f(%x: tensor<4xf32> loc("argument")) -> tensor<4xf32> {
  %sum = edge.add.Tensor(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
  %y = xnnpack.subgraph(%sum) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %w = xnnpack.constant dense<2.0> : tensor<4xf32>
    %0 = xnnpack.binary multiply %a, %w {xir.composed = "scale"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
"""

BLOCKS = """
"t.op"() ({
^bb0:
  "t.br"() [^bb2] : () -> ()
^bb1:
  "t.use"(%value) : (i32) -> ()
  "t.end"() : () -> ()
^bb2:
  %value = "t.def"() : () -> i32
  "t.br"() [^bb1] : () -> ()
}) : () -> ()
"""
"""A value that stands behind its use, though it is defined before."""


def test_a_copy_is_equal() -> None:
    module = parse_module(XirContext(), PROGRAM)
    copy = clone_module(module)
    verify(copy)
    assert copy.is_structurally_equivalent(module)
    assert module_to_text(copy) == module_to_text(module)
    for op, made in zip(module.walk(), copy.walk(), strict=True):
        assert made is not op
        assert made.location == op.location
        for value, result in zip(op.results, made.results, strict=True):
            users = [(use.operation.name, use.index) for use in value.uses]
            assert [(use.operation.name, use.index) for use in result.uses] == users


def test_a_copy_is_independent() -> None:
    module = parse_module(XirContext(), PROGRAM)
    before = module_to_text(module)
    copy = clone_module(module)
    for op in copy.walk():
        op.attributes.clear()
        op.properties.clear()
    assert module_to_text(module) == before


def test_blocks_in_any_order() -> None:
    module = parse_module(XirContext(allow_unregistered=True), BLOCKS)
    copy = clone_module(module)
    assert module_to_text(copy) == module_to_text(module)
    values = {value for op in module.walk() for value in op.results}
    assert not any(operand in values for op in copy.walk() for operand in op.operands)
