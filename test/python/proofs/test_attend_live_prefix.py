"""`attend-live-prefix`: caches of four keys, of which a mask hides the end, at each position of a few queries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from proofs.graphs import dense
from proofs.proof import Reading, prove_all
from xir.transforms.edge.attend_live_prefix import AttendLivePrefixPass

CACHE = "tensor<1x1x4x1xf32>"
COLUMNS = "%columns = edge.constant dense<[0, 1, 2, 3]> : tensor<4xi64>"


def comparisons() -> Iterator[str]:
    """Columns compared with the position of one query, which is written to the cache before."""
    for compare, ahead in product(("lt", "le", "eq"), (0, 1)):
        yield f"""
func.func @forward(%q: tensor<1x1x1x1xf32>, %x: tensor<1x1x1x1xf32>, %at: tensor<1xi64>) -> tensor<1x1x1x1xf32> {{
  %k = edge.mutable_buffer "k" dense<0.0> : {CACHE}
  %v = edge.mutable_buffer "v" dense<0.0> : {CACHE}
  %new = edge.index_put(%k, [none, none, %at], %x) : ({CACHE}, tensor<1xi64>, tensor<1x1x1x1xf32>) -> {CACHE}
  {COLUMNS}
  %row = edge.unsqueeze(%at) {{dim = 1 : i64}} : (tensor<1xi64>) -> tensor<1x1xi64>
  %ahead = edge.add.Scalar(%row) {{other = {ahead} : i64}} : (tensor<1x1xi64>) -> tensor<1x1xi64>
  %seen = edge.{compare}.Tensor(%columns, %ahead) : (tensor<4xi64>, tensor<1x1xi64>) -> tensor<1x4xi1>
  %0 = edge.scaled_dot_product_attention(%q, %new, %v, %seen)
       : (tensor<1x1x1x1xf32>, {CACHE}, {CACHE}, tensor<1x4xi1>) -> tensor<1x1x1x1xf32>
  edge.update_buffer %k, %new : {CACHE}
  func.return %0 : tensor<1x1x1x1xf32>
}}
"""


def windows() -> Iterator[str]:
    """Two queries that see a few columns before their own, as numbers."""
    for past in (1, 2):
        yield f"""
func.func @forward(%q: tensor<1x1x2x1xf32>, %k: tensor<1x4x1x1xf32>, %at: tensor<2xi64>) -> tensor<1x1x2x1xf32> {{
  {COLUMNS}
  %zero = edge.constant dense<0.0> : tensor<f32>
  %low = edge.constant {dense(np.array(-np.inf, np.float32))} : tensor<f32>
  %row = edge.unsqueeze(%at) {{dim = 1 : i64}} : (tensor<2xi64>) -> tensor<2x1xi64>
  %past = edge.sub.Scalar(%row) {{other = {past} : i64}} : (tensor<2x1xi64>) -> tensor<2x1xi64>
  %near = edge.gt.Tensor(%columns, %past) : (tensor<4xi64>, tensor<2x1xi64>) -> tensor<2x4xi1>
  %causal = edge.ge.Tensor(%row, %columns) : (tensor<2x1xi64>, tensor<4xi64>) -> tensor<2x4xi1>
  %seen = edge.bitwise_and.Tensor(%near, %causal) : (tensor<2x4xi1>, tensor<2x4xi1>) -> tensor<2x4xi1>
  %mask = edge.where.self(%seen, %zero, %low) : (tensor<2x4xi1>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
  %keys = edge.permute(%k) {{dims = array<i64: 0, 2, 1, 3>}} : (tensor<1x4x1x1xf32>) -> {CACHE}
  %0 = edge.scaled_dot_product_attention(%q, %keys, %keys, %mask)
       : (tensor<1x1x2x1xf32>, {CACHE}, {CACHE}, tensor<2x4xf32>) -> tensor<1x1x2x1xf32>
  func.return %0 : tensor<1x1x2x1xf32>
}}
"""


def tables() -> Iterator[str]:
    """Rows of a table, counted from its end where a position is negative; one row shows the last column."""
    rows = ("[true, false, false, false]", "[true, true, false, false]", "[false, true, true, false]")
    for last in (*rows[1:], "[false, false, false, true]", "[false, false, false, false]"):
        yield f"""
func.func @forward(%q: tensor<1x1x1x1xf32>, %k: {CACHE}, %at: tensor<1xi64>) -> tensor<1x1x1x1xf32> {{
  %rows = edge.constant dense<[{", ".join((*rows, last))}]> : tensor<4x4xi1>
  %mask = edge.index.Tensor(%rows, [%at]) : (tensor<4x4xi1>, tensor<1xi64>) -> tensor<1x4xi1>
  %0 = edge.scaled_dot_product_attention(%q, %k, %k, %mask)
       : (tensor<1x1x1x1xf32>, {CACHE}, {CACHE}, tensor<1x4xi1>) -> tensor<1x1x1x1xf32>
  func.return %0 : tensor<1x1x1x1xf32>
}}
"""


EACH = Reading(weights=False, tries_each=True, positions=4)
EACH_OF_TWO = Reading(weights=False, tries_each=True, positions=3)


@pytest.mark.parametrize("block", [1, 3])
def test_comparisons(block: int) -> None:
    prove_all(comparisons(), AttendLivePrefixPass(block=block), at_least=6, reading=EACH)


def test_windows() -> None:
    prove_all(windows(), AttendLivePrefixPass(block=2), at_least=2, reading=EACH_OF_TWO)


@pytest.mark.parametrize("block", [1, 3])
def test_tables(block: int) -> None:
    prove_all(tables(), AttendLivePrefixPass(block=block), at_least=4, reading=EACH)
