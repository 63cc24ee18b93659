"""`fold-batch-norm`: norms behind convolutions and linear ops, by statistics whose square roots are fractions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.fold_batch_norm import FoldBatchNormPass

PRODUCERS = {
    "conv2d": ("tensor<1x2x2x2xf32>", "dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[-4.0]]]]> : tensor<2x2x1x1xf32>"),
    "grouped": ("tensor<1x2x2x2xf32>", "dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>"),
    "linear": ("tensor<3x2xf32>", "dense<[[1.0, 2.0], [3.0, -4.0]]> : tensor<2x2xf32>"),
}


def norms() -> Iterator[str]:
    """With and without a bias, a factor and an offset."""
    for name, has_bias, has_factor, has_offset in product(PRODUCERS, (False, True), (False, True), (False, True)):
        type, weight = PRODUCERS[name]
        kind = "linear" if name == "linear" else "conv2d"
        attributes = " {groups = 2 : i64}" if name == "grouped" else ""
        of_bias, of_factor, of_offset = (", tensor<2xf32>" if has else "" for has in (has_bias, has_factor, has_offset))
        shape = weight.split(" : ")[1]
        yield f"""
func.func @forward(%x: {type}) -> {type} {{
  %w = edge.constant {weight}
  %b = edge.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %gamma = edge.constant dense<[2.0, 6.0]> : tensor<2xf32>
  %beta = edge.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %mean = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %var = edge.constant dense<[0.75, 3.75]> : tensor<2xf32>
  %0 = edge.{kind}(%x, %w, {"%b" if has_bias else "none"}){attributes} : ({type}, {shape}{of_bias}) -> {type}
  %1 = edge.batch_norm(%0, {"%gamma" if has_factor else "none"}, {"%beta" if has_offset else "none"}, %mean, %var)
       {{training = false, momentum = 0.1, eps = 0.25, cudnn_enabled = true}}
       : ({type}{of_factor}{of_offset}, tensor<2xf32>, tensor<2xf32>) -> {type}
  func.return %1 : {type}
}}
"""


NUMBERS = Reading(weights=False)


def test_norms() -> None:
    prove_all(norms(), FoldBatchNormPass(), at_least=24, reading=NUMBERS)
