"""Modules of the pte dialect that several tests use, as text."""

from __future__ import annotations

import io

from xdsl.dialects.builtin import ModuleOp

from xir.emitter import emit, read
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.printer import PrintOptions, module_to_text
from xir.ir.verifier import verify
from xir.transforms.pte.lower_to_pte import LowerToPtePass
from xir.transforms.pte.plan_memory import PlanMemoryPass

MIXED = """
func.func @forward(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  %w = edge.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = edge.add.Tensor(%x, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = xnnpack.subgraph(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %c = xnnpack.constant dense<[1.0, -2.0, 3.0]> : tensor<3xf32>
    %d = xnnpack.binary multiply %a, %c {output_max = 5.0 : f32} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    %e = xnnpack.concatenate %d, %d {axis = 0 : i32} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %f = xnnpack.static_slice %e {offsets = array<i32: 1, 0>, sizes = array<i32: 2, 3>}
       : tensor<4x3xf32> -> tensor<2x3xf32>
    %b = xnnpack.unary abs %f : tensor<2x3xf32> -> tensor<2x3xf32>
    xnnpack.yield %b : tensor<2x3xf32>
  }
  %2 = edge.mean.dim(%1) {dim = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %1, %2 : tensor<2x3xf32>, tensor<2xf32>
}
"""
"""An edge op before and one after a delegate; constants inside and outside of it."""

CONVOLUTIONS = """
func.func @forward(%x: tensor<1x8x8x4xf32>) -> tensor<1x3xf32> {
  %r = xnnpack.subgraph(%x) : (tensor<1x8x8x4xf32>) -> tensor<1x3xf32> {
  ^bb0(%a: tensor<1x8x8x4xf32>):
    %w = xnnpack.constant dense_resource<conv> : tensor<6x3x3x4xf32>
    %b = xnnpack.constant dense_resource<bias> : tensor<6xf32>
    %0 = xnnpack.conv2d %a, %w, %b {padding = array<i32: 1, 1, 1, 1>, output_min = 0.0 : f32, output_max = 6.0 : f32}
       : (tensor<1x8x8x4xf32>, tensor<6x3x3x4xf32>, tensor<6xf32>) -> tensor<1x8x8x6xf32>
    %d = xnnpack.constant dense_resource<depthwise> : tensor<1x3x3x6xf32>
    %1 = xnnpack.depthwise_conv2d %0, %d {groups = 6 : i32, stride = array<i32: 2, 2>}
       : (tensor<1x8x8x6xf32>, tensor<1x3x3x6xf32>) -> tensor<1x3x3x6xf32>
    %2 = xnnpack.max_pooling2d %1 {kernel = array<i32: 2, 2>} : tensor<1x3x3x6xf32> -> tensor<1x2x2x6xf32>
    %3 = xnnpack.static_transpose %2 {perm = array<i32: 0, 3, 1, 2>} : tensor<1x2x2x6xf32> -> tensor<1x6x2x2xf32>
    %4 = xnnpack.static_reshape %3 {new_shape = array<i32: 1, 24>} : tensor<1x6x2x2xf32> -> tensor<1x24xf32>
    %f = xnnpack.constant dense_resource<linear> : tensor<3x24xf32>
    %5 = xnnpack.fully_connected %4, %f : (tensor<1x24xf32>, tensor<3x24xf32>) -> tensor<1x3xf32>
    %6 = xnnpack.leaky_relu %5 {negative_slope = 0.25 : f32} : tensor<1x3xf32> -> tensor<1x3xf32>
    %7 = xnnpack.static_constant_pad %6 {pre_paddings = array<i32: 0, 1>, post_paddings = array<i32: 0, 0>,
                                        padding_value = 0.5 : f32}
       : tensor<1x3xf32> -> tensor<1x4xf32>
    %8 = xnnpack.softmax %7 : tensor<1x4xf32> -> tensor<1x4xf32>
    %9 = xnnpack.static_slice %8 {offsets = array<i32: 0, 1>, sizes = array<i32: 1, 3>}
       : tensor<1x4xf32> -> tensor<1x3xf32>
    xnnpack.yield %9 : tensor<1x3xf32>
  }
  func.return %r : tensor<1x3xf32>
}
"""
"""One delegate with a node of most shapes; the weights are resources `conv`, `bias`, `depthwise` and `linear`."""


QUANTIZED = """
!activation = !quant.uniform<i8:f32, 0.5:-3>
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %r = xnnpack.subgraph(%x) : (tensor<2x4xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %0 = xnnpack.convert %a : tensor<2x4xf32> -> tensor<2x4x!activation>
    %w = xnnpack.constant dense<[[1, 2, 3, 4], [-1, -2, -3, -4], [127, 0, 0, -127]]> : tensor<3x4xi8>
         -> tensor<3x4x!quant.uniform<i8:f32:0, {0.25, 0.5, 0.125}>>
    %b = xnnpack.constant dense<[100, -100, 0]> : tensor<3xi32>
         -> tensor<3x!quant.uniform<i32:f32:0, {0.125, 0.25, 0.0625}>>
    %1 = xnnpack.fully_connected %0, %w, %b
       : (tensor<2x4x!activation>, tensor<3x4x!quant.uniform<i8:f32:0, {0.25, 0.5, 0.125}>>,
          tensor<3x!quant.uniform<i32:f32:0, {0.125, 0.25, 0.0625}>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.25:7>>
    %2 = xnnpack.convert %1 : tensor<2x3x!quant.uniform<i8:f32, 0.25:7>> -> tensor<2x3xf32>
    xnnpack.yield %2 : tensor<2x3xf32>
  }
  func.return %r : tensor<2x3xf32>
}
"""
"""A statically quantised linear layer: per-tensor activations, per-channel weights and bias."""


SHARED = """
func.func @forward(%x: tensor<2x4xf32>) -> (tensor<2x6xf32>, tensor<6x4xf32>) {
  %0 = xnnpack.subgraph(%x) : (tensor<2x4xf32>) -> tensor<2x6xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %w = xnnpack.constant dense_resource<tied> : tensor<6x4xf32>
    %y = xnnpack.fully_connected %a, %w : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
    xnnpack.yield %y : tensor<2x6xf32>
  }
  %1 = edge.constant dense_resource<tied> : tensor<6x4xf32>
  func.return %0, %1 : tensor<2x6xf32>, tensor<6x4xf32>
}
"""
"""Bytes that are a constant of the program and a weight of a delegate, as tied embeddings are: a resource `tied`."""


def lowered(text: str, ctx: XirContext) -> ModuleOp:
    """The module of `text` with its functions lowered and its memory planned."""
    module = parse_module(ctx, text)
    LowerToPtePass().apply(ctx, module)
    PlanMemoryPass().apply(ctx, module)
    verify(module)
    return module


def emitted(module: ModuleOp, ctx: XirContext, *, debug_info: bool = False) -> bytes:
    """The bytes of a module's `.pte` file."""
    sink = io.BytesIO()
    emit(module, ctx, sink, debug_info=debug_info)
    return sink.getvalue()


def text_of(data: bytes) -> str:
    """A file as text, with all of its constants."""
    ctx = XirContext()
    return module_to_text(read(data, ctx), ctx, PrintOptions(resources=True))


def file_of(text: str, *, debug_info: bool = False) -> bytes:
    """What `text_of` was the text of."""
    ctx = XirContext()
    return emitted(parse_module(ctx, text), ctx, debug_info=debug_info)
