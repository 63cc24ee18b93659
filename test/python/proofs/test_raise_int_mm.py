"""`raise-int-mm`: torchao's products of integers, of rows with and without a zero point, however they round."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.raise_int_mm import RaiseIntMmPass


def products() -> Iterator[str]:
    """Rows of two numbers times two columns: signed integers, or with 128 added; scales of all columns or of each."""
    for kind, is_shifted, scales, has_bias in product(
        ("SYMMETRIC", "ASYMMETRIC"), (False, True), ("[0.5, 0.25]", "[0.5]"), (False, True)
    ):
        count = scales.count(",") + 1
        shifted = """
  %i = edge._to_copy(%q) {dtype = i32} : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %a = edge.add.Scalar(%i) {other = 128 : i64} : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %u = edge._to_copy(%a) {dtype = ui8} : (tensor<2x2xi32>) -> tensor<2x2xui8>
  %p = edge._int_mm(%u, %w) : (tensor<2x2xui8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  %m = edge.sub.Tensor(%p, %shifts) : (tensor<2x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>"""
        plain = """
  %m = edge._int_mm(%q, %w) : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>"""
        corrected = """
  %zf = edge._to_copy(%z) {dtype = f32} : (tensor<2x1xi8>) -> tensor<2x1xf32>
  %zs = edge.mul.Tensor(%zf, %s) : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %zw = edge.mul.Tensor(%zs, %sums) : (tensor<2x1xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %y = edge.sub.Tensor(%f, %zw) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"""
        number = "%y" if kind == "ASYMMETRIC" else "%f"
        bias = """
  %b = edge.add.Tensor(%r, %bias) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>"""
        yield f"""
func.func @forward(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {{
  %w = edge.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %shifts = edge.constant dense<[[512, 256]]> : tensor<1x2xi32>
  %sums = edge.constant dense<[4.0, 2.0]> : tensor<2xf32>
  %bias = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %scales = edge.constant dense<{scales}> : tensor<{count}xf32>
  %s, %z = edge.torchao.choose_qparams_affine(%x) {{mapping_type = "{kind}", block_size = array<i64: 1, 2>,
           target_dtype = i8, zero_point_dtype = i8, keepdim = true}}
           : (tensor<2x2xf32>) -> (tensor<2x1xf32>, tensor<2x1xi8>)
  %q = edge.torchao.quantize_affine(%x, %s, %z) {{block_size = array<i64: 1, 2>, output_dtype = i8}}
       : (tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xi8>) -> tensor<2x2xi8>{shifted if is_shifted else plain}
  %n = edge._to_copy(%m) {{dtype = f32}} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %f = edge.mul.Tensor(%n, %s) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>\
{corrected if kind == "ASYMMETRIC" else ""}
  %r = edge.mul.Tensor({number}, %scales) : (tensor<2x2xf32>, tensor<{count}xf32>) -> tensor<2x2xf32>\
{bias if has_bias else ""}
  func.return {"%b" if has_bias else "%r"} : tensor<2x2xf32>
}}
"""


def weights() -> Iterator[str]:
    """Weights alone, one that fp32 holds and 8 bits do not, and a factor that is no scale."""
    for largest, factor in product((-128.0, 127.0, 128.0), (0.25, -0.25)):
        yield f"""
func.func @forward(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {{
  %w = edge.constant dense<[[1.0, 2.0], [3.0, {largest}]]> : tensor<2x2xf32>
  %scales = edge.constant dense<[0.5, {factor}]> : tensor<2xf32>
  %0 = edge.mm(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = edge.mul.Tensor(%0, %scales) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}}
"""


NUMBERS = Reading(weights=False)


def test_products() -> None:
    prove_all(products(), RaiseIntMmPass(), at_least=16, reading=NUMBERS)


def test_weights() -> None:
    prove_all(weights(), RaiseIntMmPass(), at_least=2, reading=NUMBERS)
