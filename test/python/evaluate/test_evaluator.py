"""The evaluator against ATen: quantised ops, and modules that mix levels. Nodes are compared in `transforms/`."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from reference.aten_calls import CASES, aten_call
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xir.evaluate import Evaluator, run_module
from xir.evaluate.comparison import differences
from xir.evaluate.inputs import as_returned, draw_inputs
from xir.evaluate.quantized import DEQUANTIZES, QUANTIZES, by_row, converted
from xir.importer.interpreter import arguments
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.transforms.registry import passes_of

CONVERSIONS = [
    (name, number)
    for name in sorted({*QUANTIZES, *DEQUANTIZES})
    for number in range(len(CASES[name.removeprefix("edge.")]))
]


@pytest.mark.parametrize(("name", "number"), CONVERSIONS)
def test_conversions_are_those_of_aten(name: str, number: int) -> None:
    short = name.removeprefix("edge.")
    call = aten_call(short, CASES[short][number])
    computed = converted(call.op, arguments(call.op, call.values), rounds=True)
    (expected,) = call.expected
    torch.testing.assert_close(computed.to(expected.dtype), expected)


def test_rows_are_quantized_as_pytorch_does() -> None:
    from torch.ao.quantization.fx._decomposed import (
        choose_qparams_per_token_asymmetric,
        dequantize_per_token,
        quantize_per_token,
    )

    x = torch.randn((64, 40), generator=torch.Generator().manual_seed(3))
    scale, zero_point = choose_qparams_per_token_asymmetric(x, torch.int8)
    q = quantize_per_token(x, scale, zero_point, -128, 127, torch.int8)
    expected = dequantize_per_token(q, scale, zero_point, -128, 127, torch.int8, torch.float32)
    steps = (by_row(x, 1) - expected) / scale
    # Both round ties, and the zero point, from scales that differ in fp32's last bit.
    assert (steps.abs() < 0.01).float().mean() > 0.99


MIXED = """
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.relu(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = delegate.region "xnnpack" : tensor<2x4xf32> {
    %a = edge.abs(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %b = edge.add.Tensor(%a, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    delegate.yield %b : tensor<2x4xf32>
  }
  %2 = xnnpack.subgraph(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %q = xnnpack.convert %a : tensor<2x4xf32> -> tensor<2x4x!quant.uniform<i8:f32, 0.5:1>>
    %r = xnnpack.static_transpose %q {perm = array<i32: 1, 0>}
         : tensor<2x4x!quant.uniform<i8:f32, 0.5:1>> -> tensor<4x2x!quant.uniform<i8:f32, 0.5:1>>
    %s = xnnpack.static_transpose %r {perm = array<i32: 1, 0>}
         : tensor<4x2x!quant.uniform<i8:f32, 0.5:1>> -> tensor<2x4x!quant.uniform<i8:f32, 0.5:1>>
    %t = xnnpack.convert %s : tensor<2x4x!quant.uniform<i8:f32, 0.5:1>> -> tensor<2x4xf32>
    xnnpack.yield %t : tensor<2x4xf32>
  }
  func.return %2 : tensor<2x4xf32>
}
"""


def parsed(text: str) -> tuple[ModuleOp, XirContext]:
    ctx = XirContext()
    return parse_module(ctx, text, "test.mlir"), ctx


@pytest.mark.parametrize("rounds", [True, False])
def test_levels_mix(rounds: bool) -> None:
    module, ctx = parsed(MIXED)
    x = torch.tensor([[1.25, -2.1, 3.0, 0.3], [-0.75, 0.25, -0.2, 90.0]])
    exact = (x.abs() + x.relu()).double()
    expected = torch.clamp(torch.round(exact / 0.5) if rounds else exact / 0.5, -129, 126) * 0.5
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    (computed,) = Evaluator(ctx, rounds=rounds).run(function, [x])
    torch.testing.assert_close(computed, expected)


def test_all_results_are_observed() -> None:
    module, ctx = parsed(MIXED)
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    seen: list[Any] = []
    Evaluator(ctx, lambda value, _: seen.append(value)).run(function, draw_inputs(function))
    results = [result for op in function.walk() for result in op.results]
    assert set(seen) == set(results)
    assert len(seen) == len(results)


def test_an_op_without_meaning_is_named() -> None:
    module, ctx = parsed("""
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = edge.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = edge.opaque "aten::not_there(Tensor self) -> Tensor"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
""")
    with pytest.raises(DiagnosticError, match=r"test.mlir:4:\d+: error: aten::not_there"):
        run_module(module, ctx, [torch.zeros(2)])


@pytest.mark.parametrize("view", ["view", "_unsafe_view"])
def test_views_read_elements_in_the_order_of_the_ir(view: str) -> None:
    module, ctx = parsed(f"""
func.func @forward(%x: tensor<2x3xf32>) -> tensor<6xf32> {{
  %0 = edge.transpose.int(%x) {{dim0 = 0 : i64, dim1 = 1 : i64}} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = edge.{view}(%0) {{size = array<i64: 6>}} : (tensor<3x2xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}}
""")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    (result,) = run_module(module, ctx, [x])
    assert result.tolist() == x.t().flatten().tolist()


def test_a_delegate_means_what_its_ops_mean() -> None:
    text = """
func.func @forward(%x: tensor<?x3xf32> {xir.max_shape = array<i64: 8, 3>}) -> tensor<?x3xf32> {
  %0 = edge.softplus(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %1 = edge.round(%0) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %2 = edge.sub.Tensor(%0, %1) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %2 : tensor<?x3xf32>
}
"""
    module, ctx = parsed(text)
    function = module.body.ops.first
    assert isinstance(function, FuncOp)
    inputs = draw_inputs(function)
    assert inputs[0].shape == (6, 3)
    before = run_module(module, ctx, inputs)
    for each in passes_of("delegate"):
        each.apply(ctx, module)
    assert not [op.name for op in module.walk() if op.name.startswith("edge.")]
    torch.testing.assert_close(run_module(module, ctx, inputs), before)


ORDERED = """
func.func @forward(%x: tensor<1x2x3x4xf32>)
    -> (tensor<1x3x4x2xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>}, tensor<1x2x3x4xf32>, tensor<1x3x4x2xf32>) {
  %0 = edge.permute(%x) {dims = array<i64: 0, 2, 3, 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x3x4x2xf32>
  func.return %0, %x, %0 : tensor<1x3x4x2xf32>, tensor<1x2x3x4xf32>, tensor<1x3x4x2xf32>
}
"""


def test_results_are_in_the_order_that_a_caller_sees() -> None:
    ctx, x = XirContext(), torch.randn(1, 2, 3, 4)
    ordered, given, plain = run_module(parse_module(ctx, ORDERED), ctx, [x])
    torch.testing.assert_close(ordered, x)
    torch.testing.assert_close(given, x)
    torch.testing.assert_close(plain, x.permute(0, 2, 3, 1))


def test_results_without_an_order_are_as_they_are() -> None:
    function = next(op for op in parse_module(XirContext(), MIXED).body.ops if isinstance(op, FuncOp))
    x = torch.randn(2, 4)
    (found,) = as_returned(function, [x])
    assert found is x


def test_none_is_equal_to_none_alone() -> None:
    number = torch.ones(2)
    assert differences([None, number], [None, number]) == []
    for before, after in ((None, number), (number, None)):
        (found,) = differences([number, before], [number, after])
        assert found.output == 1
        assert math.isinf(found.error)
