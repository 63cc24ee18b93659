"""Which models there are, and how one gets its weights."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    import torch

SEED = 0
"""Weights and inputs are the same in every run."""


@dataclass(frozen=True)
class Model:
    """One entry of the zoo."""

    module: str
    """The file beside this one with the model's definition."""
    factory: str
    """The function in it that builds the module."""
    inputs: tuple[tuple[int, ...], ...]
    """The shape of each input, float32."""
    summary: str


def _image(size: int) -> tuple[tuple[int, ...], ...]:
    return ((1, 3, size, size),)


MODELS: dict[str, Model] = {
    "linear": Model("small", "linear", ((3,),), "one linear layer"),
    "add": Model("small", "add", ((1,), (1,)), "a few additions"),
    "add_mul": Model("small", "add_mul", ((2, 2), (2, 2), (2, 2)), "a matrix product and an addition"),
    "mv2": Model("vision", "mobilenet_v2", _image(224), "MobileNetV2"),
    "mv3": Model("vision", "mobilenet_v3_small", _image(224), "MobileNetV3, small"),
    "mv3_large": Model("vision", "mobilenet_v3_large", _image(224), "MobileNetV3, large"),
    "resnet18": Model("vision", "resnet18", _image(224), "ResNet-18"),
    "resnet50": Model("vision", "resnet50", _image(224), "ResNet-50"),
    "ic3": Model("vision", "inception_v3", _image(299), "Inception v3"),
    "efficientnet_b0": Model("vision", "efficientnet_b0", _image(224), "EfficientNet-B0"),
    "vit": Model("vision", "vit_b_16", _image(224), "Vision Transformer B/16"),
}
"""Name -> model; the names are those of ExecuTorch's examples where those have the model."""


class ModelError(ValueError):
    """A name that the zoo does not have, or weights that do not fit; the message is for the user."""


def load_model(
    name: str, weights: str | os.PathLike[str] | None = None
) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A model in evaluation mode and example inputs.

    `weights` is a file with a state dict (`torch.save(model.state_dict(), file)`). Without it the weights are random,
    the same in every run, and such that outputs are of order one.
    """
    if name not in MODELS:
        raise ModelError(f"there is no model '{name}': choose from {', '.join(sorted(MODELS))}")
    import torch

    from .weights import load_weights, settle_random_weights

    entry = MODELS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = getattr(import_module(f"xir.models.{entry.module}"), entry.factory)().eval()
        inputs = tuple(torch.randn(shape) for shape in entry.inputs)
        if weights is None:
            settle_random_weights(model, inputs)
        else:
            load_weights(model, weights)
    return model, inputs
