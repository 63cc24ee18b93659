"""`fold-constants`: moves of constants of any numbers, and arithmetic, comparisons and logic of small ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.fold_constants import FoldConstantsPass

MOVES = {
    "view(%x) {size = array<i64: 3, 2>}": "3x2",
    "permute(%x) {dims = array<i64: 1, 0>}": "3x2",
    "transpose.int(%x) {dim0 = 0 : i64, dim1 = -1 : i64}": "3x2",
    "unsqueeze(%x) {dim = 1 : i64}": "2x1x3",
    "slice.Tensor(%x) {dim = 1 : i64, start = 0 : i64, end = 3 : i64, step = 2 : i64}": "2x2",
    "slice.Tensor(%x) {dim = 1 : i64, start = -2 : i64}": "2x2",
    "select.int(%x) {dim = 1 : i64, index = -1 : i64}": "2",
    "constant_pad_nd(%x) {pad = array<i64: 1, 0>, value = 0.0 : f64}": "2x4",
    "expand(%x) {size = array<i64: 2, 2, 3>}": "2x2x3",
}


def moves() -> Iterator[str]:
    """Each move alone, and two things joined."""
    for move, shape in MOVES.items():
        yield f"""
func.func @forward() -> tensor<{shape}xf32> {{
  %x = edge.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = edge.{move} : (tensor<2x3xf32>) -> tensor<{shape}xf32>
  func.return %0 : tensor<{shape}xf32>
}}
"""
    for dim, shape in ((0, "4x3"), (1, "2x6")):
        yield f"""
func.func @forward() -> tensor<{shape}xf32> {{
  %x = edge.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = edge.constant dense<[[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]> : tensor<2x3xf32>
  %0 = edge.cat([%x, %y]) {{dim = {dim} : i64}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<{shape}xf32>
  func.return %0 : tensor<{shape}xf32>
}}
"""


OF_NUMBERS = {
    "add.Tensor(%x, %y) {alpha = 2 : i64}": "f32",
    "sub.Tensor(%x, %y)": "f32",
    "mul.Tensor(%x, %y)": "f32",
    "minimum(%x, %y)": "f32",
    "maximum(%x, %y)": "f32",
    "lt.Tensor(%x, %y)": "i1",
    "eq.Tensor(%x, %y)": "i1",
    "ge.Tensor(%x, %y)": "i1",
}
OF_ONE = {
    "rsub.Scalar(%x) {other = 1 : i64, alpha = 3 : i64}": "f32",
    "div.Scalar(%x) {other = 4.0 : f64}": "f32",
    "abs(%x)": "f32",
    "neg(%x)": "f32",
    "clamp(%x) {min = -1.0 : f64, max = 2.0 : f64}": "f32",
    "cumsum(%x) {dim = 1 : i64}": "f32",
    "gt.Scalar(%x) {other = 0 : i64}": "i1",
    "_to_copy(%x) {dtype = i64}": "i64",
}


def arithmetic() -> Iterator[str]:
    """Each op on two rows of numbers."""
    for call, element in (OF_NUMBERS | OF_ONE).items():
        operands = ", ".join(["tensor<2x2xf32>"] * call.split(")")[0].count("%"))
        yield f"""
func.func @forward() -> tensor<2x2x{element}> {{
  %x = edge.constant dense<[[1.5, -2.0], [0.0, 3.75]]> : tensor<2x2xf32>
  %y = edge.constant dense<[[-1.0, 4.0], [0.0, 2.5]]> : tensor<2x2xf32>
  %0 = edge.{call} : ({operands}) -> tensor<2x2x{element}>
  func.return %0 : tensor<2x2x{element}>
}}
"""


REARRANGED = {
    "permute(%0) {dims = array<i64: 1, 2, 0>}": "2x1x2",
    "permute(%0) {dims = array<i64: 2, 0, 1>}": "1x2x2",
    "transpose.int(%0) {dim0 = 0 : i64, dim1 = 1 : i64}": "2x2x1",
    "select.int(%0) {dim = 0 : i64, index = 1 : i64}": "2x1",
}


def dequantized() -> Iterator[str]:
    """Dequantised constants, of which the integers are rearranged."""
    for (move, shape), axis in product(REARRANGED.items(), (0, 1, 2)):
        count = (2, 2, 1)[axis]
        scales = ", ".join(("0.5", "0.25")[:count])
        yield f"""
func.func @forward() -> tensor<{shape}xf32> {{
  %x = edge.constant dense<[[[1], [-2]], [[3], [4]]]> : tensor<2x2x1xi8>
  %s = edge.constant dense<[{scales}]> : tensor<{count}xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%x, %s, none)
       {{axis = {axis} : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8}}
       : (tensor<2x2x1xi8>, tensor<{count}xf32>) -> tensor<2x2x1xf32>
  %1 = edge.{move} : (tensor<2x2x1xf32>) -> tensor<{shape}xf32>
  func.return %1 : tensor<{shape}xf32>
}}
"""


def test_moves() -> None:
    prove_all(moves(), FoldConstantsPass(), at_least=11)


NUMBERS = Reading(weights=False)


def test_arithmetic() -> None:
    prove_all(arithmetic(), FoldConstantsPass(), at_least=16, reading=NUMBERS)


def test_dequantized() -> None:
    prove_all(dequantized(), FoldConstantsPass(), at_least=11, reading=NUMBERS)
