"""`raise-items`: arithmetic with a number that is read of a tensor of one element, of any shape."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import prove_all
from xir.transforms.edge.raise_items import RaiseItemsPass

TAKEN = (
    "add.Scalar(%x)[%0] {other}",
    "add.Scalar(%x)[%0] {other, alpha = 3 : i64}",
    "sub.Scalar(%x)[%0] {other, alpha = 2 : i64}",
    "rsub.Scalar(%x)[%0] {other, alpha = 2 : i64}",
    "mul.Scalar(%x)[%0] {other}",
    "div.Scalar(%x)[%0] {other}",
)


def numbers() -> Iterator[str]:
    """Each op on a number."""
    for taken, source in product(TAKEN, ("", "1x", "1x1x")):
        yield f"""
func.func @forward(%x: tensor<2x3xf32>, %scale: tensor<{source}f32>) -> tensor<2x3xf32> {{
  %0 = edge._local_scalar_dense(%scale) : (tensor<{source}f32>) -> f64
  %1 = edge.{taken} : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}}
"""


def test_numbers() -> None:
    prove_all(numbers(), RaiseItemsPass(), at_least=18)
