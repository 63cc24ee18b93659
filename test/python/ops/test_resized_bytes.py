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


class Resized(nn.Module):
    def __init__(self, size: tuple[int, int], mode: str, antialias: bool, align_corners: bool):
        super().__init__()
        self.options: dict[str, Any] = {
            "size": size,
            "mode": mode,
            "antialias": antialias,
            "align_corners": align_corners,
        }

    def forward(self, x: Tensor) -> Tensor:
        return functional.interpolate(x, **self.options)


@pytest.mark.parametrize(
    ("mode", "antialias", "align_corners"),
    [*itertools.product(("bilinear", "bicubic"), (False, True), (False, True))],
)
def test_images_of_bytes(mode: str, antialias: bool, align_corners: bool) -> None:
    for size, channels in itertools.product(((4, 5), (16, 11), (7, 9)), (1, 3, 5)):
        model = Resized(size, mode, antialias, align_corners)
        images = torch.randint(0, 256, (2, channels, 7, 9), dtype=torch.uint8)
        edge = xir.to_edge(torch.export.export(model, (images,)))
        for program in (edge, edge.to_backend(xir.XnnpackPartitioner())):
            method = Runtime.get().load_program(program.to_executorch().buffer).load_method()
            for given in (images, images // 128 * 255):
                assert torch.equal(method.execute([given])[0], model(given))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_a_bilinear_product_of_integers_has_their_type(dtype: torch.dtype) -> None:
    class Bilinear(nn.Module):
        def forward(self, x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
            return functional.bilinear(x, y, weight)

    inputs = tuple(torch.randint(0, 100, shape).to(dtype) for shape in ((2, 3), (2, 4), (5, 3, 4)))
    program = xir.to_edge(torch.export.export(Bilinear(), inputs)).to_executorch()
    (got,) = Runtime.get().load_program(program.buffer).load_method().execute(list(inputs))
    assert torch.equal(got, Bilinear()(*inputs))
