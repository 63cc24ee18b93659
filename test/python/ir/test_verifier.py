"""The verifier looks at equal nodes once, and at each that differs. What it reports is in the lit tests."""

import pytest
from xdsl.dialects.builtin import FloatAttr, ModuleOp, StringAttr, TensorType, f32, i32
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter

from xir.dialects import xnnpack
from xir.ir.constants import dense_elements
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.ir.verifier import verify
from xir.ir.walking import ops_in

CLAMPS = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.clamp %a {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.clamp %0 {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.clamp %1 {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %2 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
"""


def clamps() -> tuple[ModuleOp, list[xnnpack.ClampOp]]:
    module = parse_module(XirContext(), CLAMPS)
    return module, list(ops_in(module, xnnpack.ClampOp))


def test_equal_nodes_are_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    module, _ = clamps()
    looked_at: list[xnnpack.ClampOp] = []
    monkeypatch.setattr(xnnpack.ClampOp, "verify_", lambda node: looked_at.append(node))
    verify(module)
    assert len(looked_at) == 1


def test_what_is_used_and_in_no_function_is_named():
    module = parse_module(XirContext(), CLAMPS, "clamps.mlir")
    (subgraph,) = ops_in(module, xnnpack.SubgraphOp)
    subgraph.detach()
    with pytest.raises(DiagnosticError) as raised:
        verify(module)
    used = "'func.return' op uses the result of 'xnnpack.subgraph', which is not in 'func.func' around it"
    assert str(raised.value).splitlines() == [
        f"clamps.mlir:10:3: error: {used}",
        "clamps.mlir:3:8: note: it is made here",
    ]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("change", ["property", "property of another name", "attribute"])
def test_each_that_differs_is_looked_at(change: str, last: bool):
    module, nodes = clamps()
    node = nodes[-1 if last else 0]
    match change:
        case "property":
            node.properties["output_min"] = FloatAttr(float("inf"), f32)
            expected = "output_min inf must be less than output_max inf"
        case "property of another name":
            node.properties["output_mn"] = node.properties.pop("output_min")
            expected = "'output_mn' is not defined"
        case _:
            node.attributes["outputmin"] = StringAttr("")
            expected = "has no property 'outputmin'"
    with pytest.raises(DiagnosticError, match=expected):
        verify(module)


def test_an_attribute_is_no_property():
    """Of the same name and value."""
    module, nodes = clamps()
    bound = nodes[0].properties["output_min"]
    for node in nodes:
        node.properties["output_min"] = bound
    verify(module)
    nodes[-1].attributes["output_min"] = nodes[-1].properties.pop("output_min")
    with pytest.raises(DiagnosticError, match="has no property 'output_min'"):
        verify(module)


def test_a_node_of_another_type_is_looked_at():
    module, nodes = clamps()
    Rewriter.replace_value_with_new_type(nodes[1].output, TensorType(f32, [5]))
    with pytest.raises(DiagnosticError, match="result has shape 5, expected 4"):
        verify(module)


CONSTANTS = """
func.func @f() -> tensor<2xf32> {
  %y = xnnpack.subgraph() : () -> tensor<2xf32> {
    %0 = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = xnnpack.constant dense<[3.0, 4.0]> : tensor<2xf32>
    %2 = xnnpack.constant dense<[5.0, 6.0]> : tensor<2xf32>
    %3 = xnnpack.binary add %0, %1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %4 = xnnpack.binary add %3, %2 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    xnnpack.yield %4 : tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}
"""


def test_constants_of_a_type_are_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    module = parse_module(XirContext(), CONSTANTS)
    looked_at: list[xnnpack.ConstantOp] = []
    monkeypatch.setattr(xnnpack.ConstantOp, "verify_", lambda op: looked_at.append(op))
    verify(module)
    assert len(looked_at) == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (dense_elements(TensorType(f32, (3,)), bytes(12)), "must have one shape"),
        (dense_elements(TensorType(i32, (2,)), bytes(8)), "cannot be stored as"),
        (StringAttr("no elements"), "dense or dense_resource"),
    ],
)
def test_a_constant_whose_elements_are_of_another_type_is_looked_at(value: Attribute, message: str):
    module = parse_module(XirContext(), CONSTANTS)
    *_, last = ops_in(module, xnnpack.ConstantOp)
    last.properties["value"] = value
    with pytest.raises(DiagnosticError, match=message):
        verify(module)
