"""Our generic text is MLIR's: upstream's own parser reads it, and we read what upstream prints."""

import pytest
from jaxlib.mlir import ir

from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.printer import PrintOptions, module_to_text

GENERIC = PrintOptions(generic=True, debuginfo=True, resources=True)

MODULES = {
    "function": """
func.func @forward(%x: tensor<1x3xf32>, %y: tensor<?x3xf32>) -> (tensor<1x3xf32>, i64) {
  %c = "t.const"() {value = 5 : i64} : () -> i64
  %z:2 = "t.op"(%x, %y) {a = [1, 2.0, "s", unit, @sym::@nested, f32], b = {c = true}}
      : (tensor<1x3xf32>, tensor<?x3xf32>) -> (tensor<1x3xf32>, tensor<*xf32>) loc("conv1"("model.py":41:0))
  func.return %z#0, %c : tensor<1x3xf32>, i64 loc(fused["a", callsite("b" at "c.py":1:2)])
}""",
    "constants": """
"t.op"() {a = dense<[[0xFF800000, 1000001.0], [1.0e-30, -0.0]]> : tensor<2x2xf32>, b = dense<true> : tensor<4xi1>,
  c = dense<[1, -2]> : tensor<2xi8>, d = dense<0x7FC0> : tensor<3xbf16>, e = array<i64: 1, 2>,
  f = array<f32: 0x7F800000>,
  g = array<i1: true, false>, h = 0.1 : f64, i = 6.1e-05 : f16, j = dense<> : tensor<0xf32>, k = array<i32>,
  l = dense<[0.1, 3.0]> : tensor<2xf64>} : () -> ()""",
    "resources": """
"t.op"() {a = dense_resource<features.0.weight> : tensor<2xf32>, b = dense_resource<"0.bias"> : tensor<4xi8>} : () -> ()
{-# dialect_resources: { builtin: {
  features.0.weight: "0x400000000000803f000000c0",
  "0.bias": "0x4000000001020304"
} } #-}""",
    "blocks": """
"t.func"() ({
^entry(%x: i32):
  "t.br"(%x) [^a, ^b] : (i32) -> ()
^a:
  "t.br"() [^b] : () -> ()
^b:
  "t.return"() : () -> ()
}) : () -> ()""",
    "quantised types": """
"t.op"() {a = tensor<4x!quant.uniform<i8<-127:127>:f32:0, {0.1:5, 2.0e-3, 0.5, 0.25}>>,
  b = !quant.uniform<u8:f32, 0.5:128>,
  c = !quant.uniform<i4:f32:{0:1, 1:32}, {{0.1, 0.2:-1}, {0.3, 0.4}}>} : () -> ()""",
    "edge": """
func.func @forward(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = edge.constant dense_resource<w> : tensor<4x3x1x1xf32>
  %0 = edge.convolution(%x, %w, none) {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>,
      dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64}
      : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = edge.relu(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %1 : tensor<1x4x8x8xf32>
}""",
    "xnnpack": """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}""",
}


@pytest.mark.parametrize("name", MODULES)
def test_generic_text_goes_through_upstream_and_back(name: str) -> None:
    ctx = XirContext(allow_unregistered=True)
    ours = parse_module(ctx, MODULES[name], "m.mlir")
    with ir.Context() as upstream:
        upstream.allow_unregistered_dialects = True
        module = ir.Module.parse(module_to_text(ours, ctx, GENERIC))
        theirs = str(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True))
    back = XirContext(allow_unregistered=True)
    again = parse_module(back, theirs, "m.mlir")
    # Upstream keeps no names and sorts dictionaries; everything else comes back.
    assert again.is_structurally_equivalent(ours)
    assert [op.location for op in again.walk()] == [op.location for op in ours.walk()]
    assert content(back) == content(ctx)


def content(ctx: XirContext) -> dict[str, bytes]:
    return {key: ctx.blobs.get(key).tobytes() for key in ctx.blobs}
