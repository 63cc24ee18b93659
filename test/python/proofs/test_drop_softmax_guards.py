"""`drop-softmax-guards`: scores under each mask of two rows and two keys, hidden by minus infinity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf

import numpy as np

from proofs.graphs import dense
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.select.drop_softmax_guards import DropSoftmaxGuardsPass


def masks() -> Iterator[np.ndarray]:
    """Each mask for two rows and two keys, and each that rows or keys share."""
    for shape in ((2, 2), (2,), (2, 1)):
        for numbers in product((0.0, -inf), repeat=int(np.prod(shape))):
            yield np.array(numbers, np.float32).reshape(shape)


def guarded() -> Iterator[str]:
    """Softmaxes that are zeros where a row is hidden throughout."""
    scores = "tensor<1x2x2xf32>"
    for mask in (None, *masks()):
        added = ""
        if mask is not None:
            type = f"tensor<{'x'.join(map(str, mask.shape))}xf32>"
            added = f"""
  %m = edge.constant {dense(mask)} : {type}
  %0 = edge.add.Tensor(%p, %m) : ({scores}, {type}) -> {scores}"""
        value = "%p" if mask is None else "%0"
        yield f"""
func.func @forward(%q: tensor<1x2x1xf32>, %k: tensor<1x1x2xf32>) -> {scores} {{
  %zeros = edge.constant dense<0.0> : {scores}
  %p = edge.bmm(%q, %k) : (tensor<1x2x1xf32>, tensor<1x1x2xf32>) -> {scores}{added}
  %1 = edge.eq.Scalar({value}) {{other = 0xFFF0000000000000 : f64}} : ({scores}) -> tensor<1x2x2xi1>
  %2 = edge.logical_not(%1) : (tensor<1x2x2xi1>) -> tensor<1x2x2xi1>
  %3 = edge.any.dim(%2) {{dim = -1 : i64, keepdim = true}} : (tensor<1x2x2xi1>) -> tensor<1x2x1xi1>
  %4 = edge.logical_not(%3) : (tensor<1x2x1xi1>) -> tensor<1x2x1xi1>
  %5 = edge._softmax({value}) {{dim = -1 : i64, half_to_float = false}} : ({scores}) -> {scores}
  %6 = edge.where.self(%4, %zeros, %5) : (tensor<1x2x1xi1>, {scores}, {scores}) -> {scores}
  func.return %6 : {scores}
}}
"""


NUMBERS = Reading(weights=False)


def test_guarded() -> None:
    prove_all(guarded(), DropSoftmaxGuardsPass(), at_least=14, reading=NUMBERS)
