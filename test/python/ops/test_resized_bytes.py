"""Images of bytes are resized to ATen's own bytes, by its integers."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
import torch
from reference.meeting import check
from reference.modules import Function
from torch.nn import functional

import xir
from xir.runtime import Runtime

SIZES = ((4, 5), (16, 11), (7, 9))
CHANNELS = (1, 3, 5)


@pytest.mark.parametrize(
    ("mode", "antialias", "align_corners"),
    [*itertools.product(("bilinear", "bicubic"), (False, True), (False, True))],
)
def test_images_of_bytes(mode: str, antialias: bool, align_corners: bool) -> None:
    """Each image in each size in one program, since tracing and compiling take most of the time."""
    resized = partial(functional.interpolate, mode=mode, antialias=antialias, align_corners=align_corners)
    model = Function(lambda *images: [resized(x, size=size) for x in images for size in SIZES])
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
    inputs = tuple(torch.randint(0, 100, shape).to(dtype) for shape in ((2, 3), (2, 4), (5, 3, 4)))
    check(functional.bilinear, *inputs)
