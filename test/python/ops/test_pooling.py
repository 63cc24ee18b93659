"""Pooling and resizing."""

import itertools
from collections.abc import Sequence
from functools import partial
from itertools import starmap
from typing import Any

import pytest
import torch.nn.functional as F
from ops.surface import Cases, assert_each_whole, assert_whole, case, dozens, r, together
from torch import nn

IMAGE = r(2, 3, 9, 10)
ROW = r(2, 3, 13)
VOLUME = r(1, 2, 5, 6, 7)


def batched(options: Sequence[Any]) -> list[Sequence[Any]]:
    """As many at a time as are worth a program of their own."""
    return [options[i : i + 12] for i in range(0, len(options), 12)]


MAX = [*itertools.product((2, 3, (3, 2)), (None, 1, 2, (4, 3)), (0, 1), (1, 2), (False, True))]
OTHER_MAX = [
    (1, None, 0, 1, False), (1, 2, 0, 1, False), (1, (3, 2), 0, 1, True), ((1, 3), 2, (0, 1), 1, True),
    ((9, 10), None, 0, 1, False), (4, 5, 2, 1, True),
]  # fmt: skip


def max_pool(kernel: Any, stride: Any, padding: Any, dilation: int, ceil_mode: bool) -> nn.Module:
    return nn.MaxPool2d(kernel, stride, padding, dilation, ceil_mode=ceil_mode)


@pytest.mark.parametrize("options", [*batched(MAX), OTHER_MAX])
def test_max_pool2d(options: list[tuple[Any, ...]]) -> None:
    assert_whole(together(*starmap(max_pool, options)), (IMAGE - 3,))


AVERAGE = [*itertools.product((2, (3, 2)), (None, 1, (4, 3)), (0, 1), (False, True), (False, True), (None, 5))]
OTHER_AVERAGE = [
    (1, None, 0, False, True, None), (1, 2, 0, False, True, None), (1, 2, 0, True, False, 3),
    ((1, 3), 2, (0, 1), True, False, None), ((9, 10), None, 0, False, True, None), (4, 5, 2, True, True, 2),
]  # fmt: skip


@pytest.mark.parametrize("options", [*batched(AVERAGE), OTHER_AVERAGE])
def test_avg_pool2d(options: list[tuple[Any, ...]]) -> None:
    assert_whole(together(*starmap(nn.AvgPool2d, options)), (IMAGE,))


@pytest.mark.parametrize("size", [1, 2, 3, (9, 10), (4, 5), (None, 3), (12, 11), (1, 10), (9, 1)])
def test_adaptive_pools(size: Any) -> None:
    assert_whole(together(nn.AdaptiveAvgPool2d(size), nn.AdaptiveMaxPool2d(size)), (IMAGE,))


@pytest.mark.parametrize(
    "cases",
    dozens(
        case("max of rows", nn.MaxPool1d(3, 2, 1), ROW),
        case("max of rows, dilated", nn.MaxPool1d(3, 2, 1, 2, ceil_mode=True), ROW),
        case("max of rows without a batch", nn.MaxPool1d(3), r(3, 13)),
        case("max without a batch", nn.MaxPool2d(2), r(3, 9, 10)),
        case("max, one number in a list", partial(F.max_pool2d, kernel_size=[3], stride=[2]), IMAGE),
        case("average of rows", nn.AvgPool1d(3, 2, 1), ROW),
        case("average of rows, ceil", nn.AvgPool1d(4, 3, 1, True, False), ROW),
        case("average without a batch", nn.AvgPool2d(2), r(3, 9, 10)),
        case("average, one number in a list", partial(F.avg_pool2d, kernel_size=[3]), IMAGE),
        case("adaptive average of rows", nn.AdaptiveAvgPool1d(4), ROW),
        case("adaptive maximum of rows", nn.AdaptiveMaxPool1d(4), ROW),
        case("adaptive average of volumes to one", nn.AdaptiveAvgPool3d(1), VOLUME),
        case("adaptive without a batch", nn.AdaptiveAvgPool2d((2, 5)), r(3, 9, 10)),
        case("power of 2", nn.LPPool2d(2, 3, stride=2), IMAGE.abs()),
        case("power of 3 of rows", nn.LPPool1d(3, 3), ROW.abs()),
        case("global", lambda x: F.max_pool2d(x, x.shape[2:]) + F.avg_pool2d(x, x.shape[2:]), IMAGE),
    ),
)  # fmt: skip
def test_pools_in_context(cases: Cases) -> None:
    assert_each_whole(cases)


SIZES = [
    {"size": (18, 20)}, {"size": (5, 4)}, {"size": (9, 10)}, {"size": (1, 1)}, {"size": (13, 10)}, {"size": 7},
    {"scale_factor": 2}, {"scale_factor": (3.0, 2.0)}, {"scale_factor": 0.5}, {"scale_factor": 1.7},
    {"scale_factor": 1.7, "recompute_scale_factor": True}, {"scale_factor": (0.4, 2.3)},
]  # fmt: skip


MODES = [
    {"mode": "bilinear", "align_corners": False}, {"mode": "bilinear", "align_corners": True}, {"mode": "nearest"},
]  # fmt: skip


@pytest.mark.parametrize("options", SIZES, ids=str)
def test_resizing(options: dict[str, Any]) -> None:
    area = {**options, "mode": "area", **({"recompute_scale_factor": True} if "scale_factor" in options else {})}
    forms = [{**options, **mode} for mode in MODES] + [area]
    assert_whole(together(*(partial(F.interpolate, **form) for form in forms)), (IMAGE,))


@pytest.mark.parametrize(
    "cases",
    dozens(
        case("linear", lambda x: F.interpolate(x, 7, mode="linear"), ROW),
        case("linear, aligned", lambda x: F.interpolate(x, 20, mode="linear", align_corners=True), ROW),
        case("nearest rows", lambda x: F.interpolate(x, scale_factor=2), ROW),
        case("upsampling module", nn.UpsamplingBilinear2d(scale_factor=2), IMAGE),
        case("nearest module", nn.UpsamplingNearest2d(scale_factor=3), IMAGE),
    ),
)  # fmt: skip
def test_resizing_in_context(cases: Cases) -> None:
    assert_each_whole(cases)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": (3, 2, 2), "stride": (1, 2, 3), "padding": (1, 0, 1)},
        {"kernel_size": 2, "dilation": (2, 1, 2), "stride": 1},
        {"kernel_size": (2, 3, 2), "ceil_mode": True},
    ],
    ids=str,
)
def test_largest_of_volumes(options: dict[str, Any]) -> None:
    assert_whole(nn.MaxPool3d(**options), (r(2, 3, 5, 6, 7),))
    assert_whole(nn.MaxPool3d(**options), (r(3, 5, 6, 7),))
