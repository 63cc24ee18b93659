"""`fuse-quantized-embedding`: rows of tables of 8, 4 and 2 bits with parameters for rows and groups, at any index."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from proofs.graphs import nested
from proofs.proof import Reading, prove_all
from xir.transforms.edge.fuse_quantized_embedding import FuseQuantizedEmbeddingPass

RANGES = ((-128, 127), (-8, 7), (-2, 1))


def tables() -> Iterator[str]:
    """Two rows of four features, each integer of the smaller ranges among them."""
    for (low, high), by_group, has_points, index in product(RANGES, (1, 2), (False, True), ("i64", "i32")):
        span = high - low + 1
        table = np.array([[low, high, low + 1, high - 1], [low + span // 2, low + span // 3, 0, -1]])
        scales = np.array([[0.5, 0.25], [1.0, 2.0]])[:, :by_group]
        points = np.array([[1, 0], [-1, 1]])[:, :by_group]
        shape = f"2x{by_group}"
        zero_points, of_points = ("%z", f", tensor<{shape}xi8>") if has_points else ("none", "")
        yield f"""
func.func @forward(%i: tensor<3x{index}>) -> tensor<3x4xf32> {{
  %t = edge.constant dense<{nested(table)}> : tensor<2x4xi8>
  %s = edge.constant dense<{nested(scales)}> : tensor<{shape}xf32>
  %z = edge.constant dense<{nested(points)}> : tensor<{shape}xi8>
  %0 = edge.torchao.dequantize_affine(%t, %s, {zero_points}) {{block_size = array<i64: 1, {4 // by_group}>,
       input_dtype = i8, quant_min = {low} : i64, quant_max = {high} : i64}}
       : (tensor<2x4xi8>, tensor<{shape}xf32>{of_points}) -> tensor<2x4xf32>
  %1 = edge.embedding(%0, %i) : (tensor<2x4xf32>, tensor<3x{index}>) -> tensor<3x4xf32>
  func.return %1 : tensor<3x4xf32>
}}
"""


def test_tables() -> None:
    prove_all(tables(), FuseQuantizedEmbeddingPass(), at_least=24, reading=Reading(weights=False))
