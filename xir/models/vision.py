"""Image models, from torchvision."""

import warnings
from types import ModuleType

import torch

from xir.models.torchvision_operators import make_importable


def torchvision_models() -> ModuleType:
    """`torchvision.models`, also where torchvision's compiled operators do not load."""
    make_importable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
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
