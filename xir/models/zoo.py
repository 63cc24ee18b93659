"""Which models there are, and how one gets its weights."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from .errors import ModelError

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
    """The shape of each input."""
    summary: str
    tokens: int = 0
    """0: the inputs are float32. Otherwise they are int64, numbers of as many tokens."""
    dynamic: bool = False
    """Quantised by default with activations as they come, which suits matrix products; otherwise with calibrated ones,
    which suit convolutions. The choices are those of ExecuTorch's `examples/xnnpack/__init__.py`."""


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
    "ic4": Model("inception_v4", "inception_v4", _image(299), "Inception v4"),
    "vit": Model("vision", "vit_b_16", _image(224), "Vision Transformer B/16", dynamic=True),
    "dl3": Model("vision", "deeplab_v3", _image(224), "DeepLab v3, ResNet-50"),
    "edsr": Model("edsr", "edsr", _image(224), "EDSR, super-resolution by two"),
    "w2l": Model("wav2letter", "wav2letter", ((10, 1, 700),), "Wav2Letter", dynamic=True),
    "mobilebert": Model("mobilebert", "mobilebert", ((1, 128),), "MobileBERT", tokens=30522, dynamic=True),
    "llama2": Model(
        "llama", "llama", ((1, 128),), "a decoder in Llama's style, 15 million parameters", tokens=32000, dynamic=True
    ),
    "emformer_transcribe": Model("emformer", "emformer_transcribe", ((1, 132, 80),), "Emformer-RNNT, sound encoder"),
    "emformer_predict": Model(
        "emformer", "emformer_predict", ((1, 16),), "Emformer-RNNT, predictor", tokens=4097, dynamic=True
    ),
    "emformer_join": Model(
        "emformer", "emformer_join", ((1, 32, 1024), (1, 16, 1024)), "Emformer-RNNT, joiner", dynamic=True
    ),
    "lstm": Model("lstm", "lstm", ((1, 16, 64),), "a two-layer LSTM", dynamic=True),
}
"""Name -> model; the names are those of ExecuTorch's examples where those have the model."""


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
        inputs = tuple(_input(shape, entry.tokens) for shape in entry.inputs)
        if weights is None:
            settle_random_weights(model, inputs)
        else:
            load_weights(model, weights)
    return model, inputs


def calibration_inputs(name: str, count: int = 8) -> list[tuple[torch.Tensor, ...]]:
    """Random inputs like the ones that `load_model` gives, the same in every run."""
    import torch

    entry = MODELS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED + 1)
        return [tuple(_input(shape, entry.tokens) for shape in entry.inputs) for _ in range(count)]


def _input(shape: tuple[int, ...], tokens: int) -> torch.Tensor:
    import torch

    return torch.randint(tokens, shape) if tokens else torch.randn(shape)
