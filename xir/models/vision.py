"""Image models, from torchvision."""

import sys
import warnings
from types import ModuleType

import torch

_DECLARED: list[torch.library.Library] = []
"""A library's declarations live as long as the object does."""


def torchvision_models() -> ModuleType:
    """`torchvision.models`, also where torchvision's compiled operators do not load.

    Beside a CPU build of torch its wheel cannot load them, and then fails on import because two operators that it
    registers a meta function for do not exist. No model here calls them, so that declaring them is enough.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import torchvision.models as models
        except RuntimeError as error:
            if "torchvision::" not in str(error):
                raise
            for name in [m for m in sys.modules if m == "torchvision" or m.startswith("torchvision.")]:
                del sys.modules[name]
            library = torch.library.Library("torchvision", "FRAGMENT")
            for operator in ("nms", "qnms"):
                library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _DECLARED.append(library)
            import torchvision.models as models
    return models


def mobilenet_v2() -> torch.nn.Module:
    """[N, 3, 224, 224] to [N, 1000]."""
    return torchvision_models().mobilenet_v2()


def mobilenet_v3_small() -> torch.nn.Module:
    """[N, 3, 224, 224] to [N, 1000]."""
    return torchvision_models().mobilenet_v3_small()


def mobilenet_v3_large() -> torch.nn.Module:
    """[N, 3, 224, 224] to [N, 1000]."""
    return torchvision_models().mobilenet_v3_large()


def resnet18() -> torch.nn.Module:
    """[N, 3, 224, 224] to [N, 1000]."""
    return torchvision_models().resnet18()


def resnet50() -> torch.nn.Module:
    """[N, 3, 224, 224] to [N, 1000]."""
    return torchvision_models().resnet50()


def inception_v3() -> torch.nn.Module:
    """[N, 3, 299, 299] to [N, 1000]; torch's own initialisation, since torchvision's takes half a minute."""
    return torchvision_models().inception_v3(init_weights=False)


def efficientnet_b0() -> torch.nn.Module:
    """[N, 3, 224, 224] to [N, 1000]."""
    return torchvision_models().efficientnet_b0()


def vit_b_16() -> torch.nn.Module:
    """[N, 3, 224, 224] to [N, 1000]."""
    return torchvision_models().vit_b_16()


class FirstOutput(torch.nn.Module):
    """A model that returns a dictionary, reduced to its tensor `out`."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.model(image)["out"]


def deeplab_v3() -> torch.nn.Module:
    """DeepLab v3 on ResNet-50, [N, 3, H, W] to [N, 21, H, W]."""
    segmentation = torchvision_models().segmentation
    return FirstOutput(segmentation.deeplabv3_resnet50(weights_backbone=None))
