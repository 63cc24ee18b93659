"""`crop-padding`: convolutions over an open dimension whose end is cut off, at several sizes of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from proofs.proof import Reading, prove_all
from xir.transforms.edge.crop_padding import CropPaddingPass


def convolutions() -> Iterator[str]:
    """Of a vector and of an image, by paddings, strides and numbers of elements that are cut off."""
    for padding, stride, dropped in product((1, 2, 3), (1, 2), (1, 2)):
        yield f"""
func.func @forward(%x: tensor<1x2x?xf32>, %w: tensor<1x2x3xf32>, %b: tensor<1xf32>) -> tensor<1x1x?xf32> {{
  %0 = edge.conv1d(%x, %w, %b) {{padding = array<i64: {padding}>, stride = array<i64: {stride}>}}
       : (tensor<1x2x?xf32>, tensor<1x2x3xf32>, tensor<1xf32>) -> tensor<1x1x?xf32>
  %1 = edge.slice.Tensor(%0) {{dim = 2 : i64, start = 0 : i64, end = -{dropped} : i64}}
       : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
  func.return %1 : tensor<1x1x?xf32>
}}
"""
        yield f"""
func.func @forward(%x: tensor<1x1x?x2xf32>, %w: tensor<1x1x2x2xf32>) -> tensor<1x1x?x3xf32> {{
  %0 = edge.conv2d(%x, %w, none) {{padding = array<i64: {padding}, 1>, stride = array<i64: {stride}, 1>}}
       : (tensor<1x1x?x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x?x3xf32>
  %1 = edge.slice.Tensor(%0) {{dim = 2 : i64, start = 0 : i64, end = -{dropped} : i64}}
       : (tensor<1x1x?x3xf32>) -> tensor<1x1x?x3xf32>
  func.return %1 : tensor<1x1x?x3xf32>
}}
"""


@pytest.mark.parametrize("size", [5, 6])
def test_convolutions(size: int) -> None:
    prove_all(convolutions(), CropPaddingPass(), at_least=10, reading=Reading(sizes=(size,)))
