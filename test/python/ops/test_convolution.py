"""Convolutions as `torch.nn` and `torch.nn.functional` call them."""

import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from ops.surface import Cases, assert_each_whole, assert_whole, case, dozens, r, trained
from reference.modules import Calling
from torch import nn

IMAGE = r(2, 4, 9, 10)
ROW = r(2, 4, 13)

# torch's own remark about an even window with padding="same", which is one of the cases.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")


def residual(m: Any, x: torch.Tensor) -> torch.Tensor:
    """conv, norm, activation twice, the first one's result added."""
    y = F.hardtanh(m.norm1(m.conv1(x)))
    return y + m.norm2(m.conv2(y))


CONVS = {f"conv{i}": nn.Conv2d(4, 4, 3, padding=1) for i in (1, 2)}
NORMS = {f"norm{i}": nn.BatchNorm2d(4) for i in (1, 2)}


def name(options: dict[str, Any]) -> str:
    return "-".join(f"{key}{value}".replace(" ", "") for key, value in options.items())


def grid(**axes: list[Any]) -> list[dict[str, Any]]:
    """Every combination of options."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


CONV2D = [
    *grid(kernel_size=[1, 3, (2, 3)], stride=[1, (2, 1)], padding=[0, (1, 2)], bias=[True, False]),
    *grid(kernel_size=[3], dilation=[2, (1, 3)], padding=[0, 2]),
    *grid(kernel_size=[1, 3, (5, 3)], padding=["same", "valid"], dilation=[1, 2]),
    *grid(kernel_size=[2, (4, 3)], padding=["same"], dilation=[2]),
    *grid(kernel_size=[3], groups=[2, 4], bias=[True, False], padding=["same", 1]),
    *grid(kernel_size=[3], padding=[2], padding_mode=["reflect", "replicate", "circular"]),
]

DEPTHWISE = grid(multiplier=[1, 2, 3], stride=[1, 2], dilation=[1, 2], kernel_size=[2, 3, 5])

TRANSPOSED = [
    *grid(kernel_size=[1, 2, (3, 4)], stride=[1, 2, (3, 2)], padding=[0, (0, 1)], bias=[True, False]),
    *grid(kernel_size=[3], stride=[2, 3], output_padding=[1, (1, 0)], padding=[0, 1], groups=[1, 2, 4]),
    *grid(kernel_size=[3], dilation=[2], stride=[1, 2], groups=[1, 4], padding=[0, 2]),
    *grid(kernel_size=[2], stride=[1], dilation=[2], output_padding=[1]),
    *grid(kernel_size=[1], stride=[4], output_padding=[3]),
]


@pytest.mark.parametrize("cases", dozens(*(case(name(o), trained(nn.Conv2d(4, 8, **o)), IMAGE) for o in CONV2D)))
def test_conv2d(cases: Cases) -> None:
    assert_each_whole(cases)


VOLUMES = [
    *grid(kernel_size=[2, (3, 1, 2)], stride=[1, (2, 1, 3)], padding=[0, (1, 0, 2)], bias=[True, False]),
    *grid(kernel_size=[3], dilation=[(2, 1, 2)], groups=[1, 2], padding=["same"]),
]


@pytest.mark.parametrize(
    "cases", dozens(*(case(name(o), trained(nn.Conv3d(4, 6, **o)), r(2, 4, 5, 6, 7)) for o in VOLUMES))
)
def test_conv3d(cases: Cases) -> None:
    assert_each_whole(cases)


def test_conv3d_in_context() -> None:
    layers = nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2)
    assert_whole(trained(nn.Sequential(*layers)), (r(1, 2, 4, 6, 6),))
    assert_whole(trained(layers[0]), (r(2, 4, 6, 6),))


def depthwise(multiplier: int, **options: Any) -> nn.Module:
    return trained(nn.Conv2d(4, 4 * multiplier, groups=4, padding=1, **options))


@pytest.mark.parametrize("cases", dozens(*(case(name(options), depthwise(**options), IMAGE) for options in DEPTHWISE)))
def test_depthwise(cases: Cases) -> None:
    assert_each_whole(cases)


@pytest.mark.parametrize(
    "cases", dozens(*(case(name(o), trained(nn.ConvTranspose2d(4, 8, **o)), IMAGE) for o in TRANSPOSED))
)
def test_conv_transpose2d(cases: Cases) -> None:
    assert_each_whole(cases)


ROWS = [
    *grid(kernel_size=[1, 3, 4], padding=[0, 2], bias=[True, False]),
    *grid(kernel_size=[1, 3], padding=["same"]),
    *grid(kernel_size=[3], stride=[2], dilation=[1, 2], groups=[1, 2, 4], padding=[1]),
    *grid(kernel_size=[3], padding=[1], padding_mode=["reflect", "replicate", "circular"]),
]


@pytest.mark.parametrize("cases", dozens(*(case(name(o), trained(nn.Conv1d(4, 8, **o)), ROW) for o in ROWS)))
def test_conv1d(cases: Cases) -> None:
    assert_each_whole(cases)


TRANSPOSED_ROWS = grid(kernel_size=[3], stride=[1, 3], padding=[0, 1], dilation=[1, 2], groups=[1, 2, 4]) + grid(
    kernel_size=[4], stride=[2], output_padding=[1]
)


@pytest.mark.parametrize(
    "cases", dozens(*(case(name(o), trained(nn.ConvTranspose1d(4, 8, **o)), ROW) for o in TRANSPOSED_ROWS))
)
def test_conv_transpose1d(cases: Cases) -> None:
    assert_each_whole(cases)


@pytest.mark.parametrize(
    "cases",
    dozens(
        case("without a batch", trained(nn.Conv2d(4, 3, 3)), r(4, 9, 10)),
        case("transposed without a batch", trained(nn.ConvTranspose2d(4, 3, 3)), r(4, 9, 10)),
        case("one channel", trained(nn.Conv2d(1, 3, 3)), r(2, 1, 8, 8)),
        case("window as large as the image", trained(nn.Conv2d(4, 3, (9, 10))), IMAGE),
        case("stride larger than the window", trained(nn.Conv2d(4, 3, 2, stride=4, padding=1)), IMAGE),
        case("channels last", trained(nn.Conv2d(4, 3, 3)), IMAGE.to(memory_format=torch.channels_last)),
        case("shared weight", lambda x, w=r(4, 4, 3, 3): F.conv2d(F.conv2d(x, w), w), IMAGE),
        case("flattened", trained(nn.Sequential(nn.Conv2d(4, 16, (2, 1), padding="same"), nn.Flatten())), IMAGE),
        case("padded before", lambda x, w=r(2, 4, 3, 3): F.conv2d(F.pad(x, (0, 1, 2, 0)), w, stride=2), IMAGE),
        case("residual 2d", trained(Calling(residual, **CONVS, **NORMS)), IMAGE),
        case("relu between conv and norm", trained(nn.Sequential(nn.Conv2d(4, 3, 3), nn.ReLU(), nn.BatchNorm2d(3))),
             IMAGE),
        case("transposed and norm", trained(nn.Sequential(nn.ConvTranspose2d(4, 6, 3, groups=2), nn.BatchNorm2d(6))),
             IMAGE),
        case("batch norm alone", trained(nn.BatchNorm2d(4)), IMAGE),
        case("batch norm without affine", trained(nn.BatchNorm2d(4, affine=False)), IMAGE),
        case("batch norm of volumes", trained(nn.BatchNorm3d(4)), r(2, 4, 3, 5, 6)),
        case("computed bias", lambda x, b, w=r(3, 4, 3, 3): F.conv2d(x, w, b), IMAGE, r(3)),
        case("weight norm", trained(nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 3, 3))), IMAGE),
    ),
)  # fmt: skip
def test_convolutions_in_context(cases: Cases) -> None:
    assert_each_whole(cases)
