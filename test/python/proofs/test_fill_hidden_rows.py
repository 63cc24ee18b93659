"""`fill-hidden-rows`: a softmax of two rows and two keys under masks, which other masks hide again, or in part."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.fill_hidden_rows import FillHiddenRowsPass

ROWS = ("[true, true]", "[true, false]", "[false, false]")
MASKS = tuple(f"[{first}, {second}]" for first, second in product(ROWS, ROWS))


def hidden() -> Iterator[str]:
    """What is minus infinity before a softmax, and 0 behind it."""
    for before, after in product(MASKS, MASKS[:5]):
        yield f"""
func.func @forward(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {{
  %m = edge.constant dense<{before}> : tensor<2x2xi1>
  %n = edge.constant dense<{after}> : tensor<2x2xi1>
  %0 = edge.masked_fill.Scalar(%x, %m) {{value = 0xFFF0000000000000 : f64}}
       : (tensor<2x2xf32>, tensor<2x2xi1>) -> tensor<2x2xf32>
  %1 = edge._softmax(%0) {{dim = -1 : i64, half_to_float = false}} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = edge.masked_fill.Scalar(%1, %n) {{value = 0 : i64}} : (tensor<2x2xf32>, tensor<2x2xi1>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}}
"""


NUMBERS = Reading(weights=False)


def test_hidden() -> None:
    # One mask hides both rows, as one other does; two hide the first, as two others do, and two the second.
    prove_all(hidden(), FillHiddenRowsPass(), at_least=9, reading=NUMBERS)
