"""Images of bytes are resized to ATen's own bytes, by its integers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import xir
from xir.runtime import Runtime

SIZES = ((4, 5), (16, 11), (7, 9))
CHANNELS = (1, 3, 5)


class Resized(nn.Module):
    """Each image in each size: one program for all, since tracing and compiling take most of the time."""

    def __init__(self, **options: Any):
        super().__init__()
        self.options = options

    def forward(self, *images: Tensor) -> list[Tensor]:
        return [functional.interpolate(x, size=size, **self.options) for x in images for size in SIZES]


@pytest.mark.parametrize(
    ("mode", "antialias", "align_corners"),
    [*itertools.product(("bilinear", "bicubic"), (False, True), (False, True))],
)
def test_images_of_bytes(mode: str, antialias: bool, align_corners: bool) -> None:
    model = Resized(mode=mode, antialias=antialias, align_corners=align_corners)
    images = tuple(torch.randint(0, 256, (2, channels, 7, 9), dtype=torch.uint8) for channels in CHANNELS)
    edge = xir.to_edge(torch.export.export(model, images))
    for program in (edge, edge.to_backend(xir.XnnpackPartitioner())):
        method = Runtime.get().load_program(program.to_executorch().buffer).load_method()
        for given in (images, tuple(image // 128 * 255 for image in images)):
            cases = itertools.product(CHANNELS, SIZES)
            for case, found, wanted in zip(cases, method.execute(list(given)), model(*given), strict=True):
                assert torch.equal(found, wanted), case


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_a_bilinear_product_of_integers_has_their_type(dtype: torch.dtype) -> None:
    class Bilinear(nn.Module):
        def forward(self, x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
            return functional.bilinear(x, y, weight)

    inputs = tuple(torch.randint(0, 100, shape).to(dtype) for shape in ((2, 3), (2, 4), (5, 3, 4)))
    program = xir.to_edge(torch.export.export(Bilinear(), inputs)).to_executorch()
    (got,) = Runtime.get().load_program(program.buffer).load_method().execute(list(inputs))
    assert torch.equal(got, Bilinear()(*inputs))
