"""`lower-masks`: masks of two tokens in floating point, for each of the integers and booleans that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.lower_masks import LowerMasksPass

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def logic() -> Iterator[str]:
    """Comparisons with a number and logic, between scores and other scores, numbers, or an infinity."""
    chosen = (
        "edge.where.self(%3, %x, %y) : (tensor<2xi1>, tensor<1x2xf32>, tensor<1x2xf32>)",
        "edge.where.self(%3, %x, %low) : (tensor<2xi1>, tensor<1x2xf32>, tensor<f32>)",
        "edge.masked_fill.Scalar(%x, %3) {value = 0xFFF0000000000000 : f64} : (tensor<1x2xf32>, tensor<2xi1>)",
        "edge.masked_fill.Scalar(%x, %3) {value = 2.0 : f64} : (tensor<1x2xf32>, tensor<2xi1>)",
    )
    for number, (compare, join) in enumerate(product(COMPARISONS, ("logical_or", "bitwise_and.Tensor"))):
        yield f"""
func.func @forward(%ids: tensor<2xi64>, %f: tensor<1x1xf32>, %r: tensor<1x2xf32>) -> tensor<1x2xf32> {{
  %low = edge.constant dense<-1.0e4> : tensor<f32>
  %x = edge.matmul(%f, %r) : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = edge.mul.Scalar(%x) {{other = 2.0 : f64}} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %0 = edge.{compare}.Scalar(%ids) {{other = 1 : i64}} : (tensor<2xi64>) -> tensor<2xi1>
  %1 = edge.eq.Scalar(%ids) {{other = -2 : i64}} : (tensor<2xi64>) -> tensor<2xi1>
  %2 = edge.{join}(%0, %1) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %3 = edge.logical_not(%2) : (tensor<2xi1>) -> tensor<2xi1>
  %4 = {chosen[number % len(chosen)]} -> tensor<1x2xf32>
  func.return %4 : tensor<1x2xf32>
}}
"""


def numbers() -> Iterator[str]:
    """A choice between two numbers, and booleans that become floats."""
    for value, other in (("0.0", "-1.0e4"), ("1.0", "0.0"), ("-1.0e38", "0.5")):
        yield f"""
func.func @forward(%mask: tensor<2xi64>) -> tensor<2xf32> {{
  %value = edge.constant dense<{value}> : tensor<f32>
  %other = edge.constant dense<{other}> : tensor<f32>
  %0 = edge._to_copy(%mask) {{dtype = i1}} : (tensor<2xi64>) -> tensor<2xi1>
  %1 = edge.where.self(%0, %value, %other) : (tensor<2xi1>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}}
"""
    yield """
func.func @forward(%mask: tensor<2xi1>) -> tensor<2xf32> {
  %0 = edge.full_like(%mask) {fill_value = 0 : i64, dtype = f32} : (tensor<2xi1>) -> tensor<2xf32>
  %1 = edge.masked_fill.Scalar(%0, %mask) {value = 0xFFF0000000000000 : f64}
       : (tensor<2xf32>, tensor<2xi1>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
"""


def attention() -> Iterator[str]:
    """Attention under a mask of tokens, which may hide all; and one of tokens and queries."""
    yield """
func.func @forward(%q: tensor<1x2x1xf32>, %mask: tensor<1x2xi64>) -> tensor<1x2x1xf32> {
  %0 = edge._to_copy(%mask) {dtype = i1} : (tensor<1x2xi64>) -> tensor<1x2xi1>
  %1 = edge.unsqueeze(%0) {dim = 1 : i64} : (tensor<1x2xi1>) -> tensor<1x1x2xi1>
  %2 = edge.expand(%1) {size = array<i64: 1, 2, 2>} : (tensor<1x1x2xi1>) -> tensor<1x2x2xi1>
  %3 = edge.scaled_dot_product_attention(%q, %q, %q, %2)
       : (tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x2xi1>) -> tensor<1x2x1xf32>
  func.return %3 : tensor<1x2x1xf32>
}
"""
    yield """
func.func @forward(%q: tensor<1x2x1xf32>, %mask: tensor<1x2x2xi1>) -> tensor<1x2x1xf32> {
  %0 = edge.logical_not(%mask) : (tensor<1x2x2xi1>) -> tensor<1x2x2xi1>
  %1 = edge.scaled_dot_product_attention(%q, %q, %q, %0)
       : (tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x2xi1>) -> tensor<1x2x1xf32>
  func.return %1 : tensor<1x2x1xf32>
}
"""


def causal() -> Iterator[str]:
    """Positions that are compared with each other, up to a size."""
    for compare, distance in product(COMPARISONS, (0, 1)):
        yield f"""
func.func @forward(%x: tensor<?xf32> {{xir.max_shape = array<i64: 9>}}) -> tensor<?x?xf32> {{
  %zero = edge.constant dense<0.0> : tensor<f32>
  %low = edge.constant dense<-10000.0> : tensor<f32>
  %n = edge.sym_size.int(%x) {{dim = 0 : i64}} : (tensor<?xf32>) -> i64
  %0 = edge.arange.start_step()[%n] {{start = 0 : i64, end}} : (i64) -> tensor<?xi64>
  %1 = edge.unsqueeze(%0) {{dim = 0 : i64}} : (tensor<?xi64>) -> tensor<1x?xi64>
  %2 = edge.unsqueeze(%0) {{dim = 1 : i64}} : (tensor<?xi64>) -> tensor<?x1xi64>
  %3 = edge.sub.Scalar(%1) {{other = {distance} : i64}} : (tensor<1x?xi64>) -> tensor<1x?xi64>
  %4 = edge.{compare}.Tensor(%3, %2) : (tensor<1x?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1>
  %5 = edge.where.self(%4, %zero, %low) : (tensor<?x?xi1>, tensor<f32>, tensor<f32>) -> tensor<?x?xf32>
  func.return %5 : tensor<?x?xf32>
}}
"""


EACH = Reading(weights=False, tries_each=True)


def test_logic() -> None:
    prove_all(logic(), LowerMasksPass(), at_least=12, reading=EACH)


def test_numbers() -> None:
    prove_all(numbers(), LowerMasksPass(), at_least=4, reading=EACH)


def test_attention() -> None:
    prove_all(attention(), LowerMasksPass(), at_least=2, reading=EACH)


def test_causal() -> None:
    prove_all(causal(), LowerMasksPass(), at_least=12, reading=Reading(weights=False, sizes=(3,)))
