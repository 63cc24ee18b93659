"""`unmerge-dynamic-dims`: open dimensions that a view merges and another one splits, at several sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from proofs.proof import Reading, prove_all
from xir.transforms.edge.unmerge_dynamic_dims import UnmergeDynamicDimsPass

OPEN = "-9223372036854775808"

SIZES = """
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x2xf32>) -> i64
  %t = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x2xf32>) -> i64"""


def by_row() -> Iterator[str]:
    """Rows of merged dimensions, that are split as they were or the other way round."""
    ops = (
        ("exp(%0) : (tensor<?x2xf32>)", 2),
        ("sub.Tensor(%0, %y) : (tensor<?x2xf32>, tensor<2xf32>)", 2),
        ("linear(%0, %w, none) : (tensor<?x2xf32>, tensor<3x2xf32>)", 3),
    )
    for (op, columns), (first, second) in product(ops, (("n", "t"), ("t", "n"))):
        yield f"""
func.func @forward(%x: tensor<?x?x2xf32>, %y: tensor<2xf32>) -> tensor<?x?x{columns}xf32> {{{SIZES}
  %w = edge.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %rows = edge.executorch_prim.mul.Scalar()[%n, %t] {{a = {OPEN} : i64, b = {OPEN} : i64}} : (i64, i64) -> i64
  %0 = edge.view(%x)[%rows] {{size = array<i64: {OPEN}, 2>}} : (tensor<?x?x2xf32>, i64) -> tensor<?x2xf32>
  %1 = edge.{op} -> tensor<?x{columns}xf32>
  %2 = edge.view(%1)[%{first}, %{second}] {{size = array<i64: {OPEN}, {OPEN}, {columns}>}}
       : (tensor<?x{columns}xf32>, i64, i64) -> tensor<?x?x{columns}xf32>
  func.return %2 : tensor<?x?x{columns}xf32>
}}
"""


def heads() -> Iterator[str]:
    """Heads that are merged with the batch, and split off behind a transpose."""
    yield f"""
func.func @forward(%x: tensor<?x?x2xf32>) -> tensor<?x2x?x1xf32> {{{SIZES.replace("%n", "%s").replace("%t", "%n")}
  %nh = edge.executorch_prim.mul.Scalar()[%n] {{a = {OPEN} : i64, b = 2 : i64}} : (i64) -> i64
  %0 = edge.view(%x)[%s, %nh] {{size = array<i64: {OPEN}, {OPEN}, 1>}}
       : (tensor<?x?x2xf32>, i64, i64) -> tensor<?x?x1xf32>
  %1 = edge.transpose.int(%0) {{dim0 = 0 : i64, dim1 = 1 : i64}} : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %2 = edge.view(%1)[%n, %s] {{size = array<i64: {OPEN}, 2, {OPEN}, 1>}}
       : (tensor<?x?x1xf32>, i64, i64) -> tensor<?x2x?x1xf32>
  func.return %2 : tensor<?x2x?x1xf32>
}}
"""


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2), (1, 3)])
def test_merged_dimensions(sizes: tuple[int, int]) -> None:
    prove_all(by_row(), UnmergeDynamicDimsPass(), at_least=3, reading=Reading(sizes=sizes))
    prove_all(heads(), UnmergeDynamicDimsPass(), at_least=1, reading=Reading(sizes=sizes))
