"""RoI align, of torchvision, against a loop over samples, in both runtimes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from reference.both_runtimes import delegates, lower
from reference.modules import Calling
from reference.runtimes import both
from torch import Tensor, nn
from torch.export import Dim

from xir.models.vision import torchvision_models

SCHEMA = (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor"
)


def by_samples(image: Any, rois: Any, scale: float, bins_y: int, bins_x: int, ratio: int, aligned: bool) -> np.ndarray:
    """In fp64, as torchvision's kernel for the CPU describes it: sample by sample."""
    channels, height, width = image.shape[1:]
    result = np.zeros((len(rois), channels, bins_y, bins_x))
    offset = 0.5 if aligned else 0.0
    for k, (number, *corners) in enumerate(np.asarray(rois, np.float64)):
        x1, y1, x2, y2 = (corner * scale - offset for corner in corners)
        least = -math.inf if aligned else 1.0
        bin_y, bin_x = max(y2 - y1, least) / bins_y, max(x2 - x1, least) / bins_x
        samples_y, samples_x = (ratio if ratio > 0 else math.ceil(bin_size) for bin_size in (bin_y, bin_x))
        for i, j in itertools.product(range(bins_y), range(bins_x)):
            total = np.zeros(channels)
            for a, b in itertools.product(range(samples_y), range(samples_x)):
                y = y1 + i * bin_y + (a + 0.5) * bin_y / samples_y
                x = x1 + j * bin_x + (b + 0.5) * bin_x / samples_x
                if not (-1 <= y <= height and -1 <= x <= width):
                    continue
                y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
                top, left = min(int(y), height - 2), min(int(x), width - 2)
                corner = image[int(number), :, top : top + 2, left : left + 2].astype(np.float64)
                total += np.array([top + 1 - y, y - top]) @ corner @ np.array([left + 1 - x, x - left])
            result[k, :, i, j] = total / max(samples_y * samples_x, 1)
    return result


@pytest.fixture(scope="module", autouse=True)
def operator() -> Any:
    """torchvision's operator, declared where its compiled ones do not load."""
    torchvision_models()
    if hasattr(torch.ops.torchvision, "roi_align"):
        yield
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define(SCHEMA)

    def meta(input: Tensor, rois: Tensor, scale: float, bins_y: int, bins_x: int, *_: Any) -> Tensor:
        return input.new_empty(rois.shape[0], input.shape[1], bins_y, bins_x)

    library.impl("roi_align", meta, "Meta")
    yield
    library._destroy()  # pyright: ignore[reportPrivateUsage]


def regions(how: tuple[Any, ...]) -> Calling:
    """Parts of features, as a detector's head takes them."""
    torch.manual_seed(0)
    align = torch.ops.torchvision.roi_align
    features = nn.Conv2d(3, 4, 3, padding=1)
    return Calling(lambda m, image, rois: align(m.features(image).relu(), rois, *how), features=features)


# Inside, over the edges, behind the image, of no size, as wide as one pixel, and with samples at the two limits.
BOXES = [
    *([1, 2, 20, 25], [-9, -6, 30, 12], [28, 28, 60, 45], [40, 50, 60, 70]),
    *([5, 5, 5, 5], [7, 3, 8, 30.5], [3, -4, 20, 20], [3, 10, 20, 34]),
]

GATHERED = ["edge.select.int", "edge._to_copy", "edge.index_select"]
"""The images of the parts, where there are several."""


@pytest.mark.parametrize(("ratio", "aligned"), [(2, False), (3, True), (0, False), (-1, True)])
@pytest.mark.parametrize("images", [1, 2])
def test_regions(images: int, ratio: int, aligned: bool) -> None:
    how = (0.5, 3, 5, ratio, aligned)
    model = regions(how).eval()
    pixels = torch.randn(images, 3, 16, 15)
    shapes = {"image": None, "rois": {0: Dim("parts", min=2, max=40)}}
    rois = torch.tensor([[float(index % images), *box] for index, box in enumerate(BOXES)])
    lowered = lower(model, (pixels, rois), shapes)
    with torch.no_grad():
        features = model.features(pixels).relu().numpy()
    outside = [op.name for op in lowered.module.walk() if op.name.startswith("edge.") and op.name != "edge.constant"]
    assert outside == ([] if images == 1 else GATHERED)
    assert delegates(lowered) <= images
    runs = both(lowered.to_executorch().buffer)
    for some in (rois, rois[:2], rois[2:5]):
        expected = by_samples(features, some, *how)
        for (found,) in (run([pixels, some]) for run in runs):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
