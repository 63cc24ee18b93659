"""Operators that neither XNNPACK nor ExecuTorch's kernels have, and tensors of more dimensions than XNNPACK takes, in
terms of others: one delegate, right in both runtimes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.both_runtimes import Program, holds, lower
from reference.modules import Calling
from torch import Tensor, nn
from torch.nn import functional

from xir.runtime import Runtime

CONSTANT = torch.linspace(-1, 1, 3 * 11 * 9).view(1, 3, 11, 9).sin()


def written_view() -> nn.Module:
    """One write into a view, which has torch's functionalisation trace the whole program again."""

    def forward(m: Any, x: Tensor) -> tuple[Tensor, ...]:
        y = m.convolution(x).clone()
        y[:, 0].add_(1)
        return m.norm(y), m.pool(y), m.up(y)

    parts = {"convolution": nn.Conv3d(3, 4, 3, padding=1), "pool": nn.MaxPool3d(2), "norm": nn.LayerNorm(8)}
    return Calling(forward, up=nn.ConvTranspose3d(4, 2, 2, 2), **parts)


def normalized_weight(x: Tensor, weight: Tensor, gain: Tensor) -> Tensor:
    """As convolutions of NFNets standardise their weights."""
    rows = functional.batch_norm(
        weight.reshape(1, 8, -1), None, None, weight=gain, training=True, momentum=0.0, eps=1e-6
    )
    return functional.conv2d(x, rows.reshape(weight.shape))


def picked(mode: str, size: Any = None, factor: Any = None) -> Program:
    """A resize that takes each element from one place."""
    return Program(lambda x: functional.interpolate(x, size=size, scale_factor=factor, mode=mode))


def between(align_corners: bool, size: Any = None, factor: Any = None) -> Program:
    """A resize of volumes that takes each element from eight places."""
    return Program(lambda x: functional.interpolate(x, size, factor, "trilinear", align_corners))


def resized(mode: str, antialias: bool, **size: Any) -> Callable[..., Tensor]:
    def resize(x: Tensor, *constants: Tensor) -> Tensor:
        """Of a learned embedding, as vision transformers do, or of the image."""
        image = constants[0] if constants else x
        found = functional.interpolate(image, mode=mode, antialias=antialias, align_corners=False, **size)
        return x + found if constants else found

    return resize


CASES: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "written_view": (written_view(), (1, 3, 4, 8, 8)),
    "norm_of_weights": (Program(normalized_weight, torch.randn(8, 3, 3, 3), torch.rand(8) + 0.5), (1, 3, 8, 8)),
    "norm_without_statistics": (
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, track_running_stats=False)),
        (2, 3, 8, 8),
    ),
    "bicubic_constant": (Program(resized("bicubic", False, size=(6, 7)), CONSTANT), (1, 3, 6, 7)),
    "bicubic_antialiased_constant": (
        Program(resized("bicubic", True, scale_factor=(6.1 / 11, 7.1 / 9)), CONSTANT),
        (1, 3, 6, 7),
    ),
    "bicubic_image": (Program(resized("bicubic", False, size=(6, 17))), (2, 3, 7, 9)),
    "bicubic_by_factor": (Program(resized("bicubic", False, scale_factor=(1.7, 0.6))), (1, 3, 7, 9)),
    "bilinear_antialiased_image": (Program(resized("bilinear", True, size=(4, 17))), (2, 3, 7, 9)),
    "nearest_3d": (picked("nearest", factor=(2.0, 1.3, 0.7)), (2, 3, 4, 5, 6)),
    "nearest_exact_1d": (picked("nearest-exact", size=11), (2, 3, 5)),
    "nearest_exact_doubled": (picked("nearest-exact", factor=2.0), (2, 3, 5, 4)),
    "nearest_exact_halved": (picked("nearest-exact", factor=0.5), (2, 3, 6, 8)),
    "nearest_exact_by_factor": (picked("nearest-exact", factor=(1.7, 0.6)), (2, 3, 7, 9)),
    "nearest_exact_3d": (picked("nearest-exact", size=(3, 7, 6)), (2, 3, 4, 5, 6)),
    "trilinear": (between(align_corners=False, size=(5, 3, 9)), (2, 3, 4, 5, 6)),
    "trilinear_by_factor": (between(align_corners=False, factor=(1.3, 2.0, 0.7)), (2, 3, 4, 5, 6)),
    "trilinear_of_corners": (between(align_corners=True, size=(5, 3, 9)), (2, 3, 4, 5, 6)),
    "largest_3d_of_cells": (nn.AdaptiveMaxPool3d((2, None, 3)), (2, 3, 5, 4, 7)),
    "largest_3d_of_all": (nn.AdaptiveMaxPool3d(1), (3, 5, 4, 7)),
    "transposed_3d": (nn.ConvTranspose3d(3, 4, 2, 2), (1, 3, 4, 3, 2)),
    "transposed_3d_in_groups": (
        nn.ConvTranspose3d(4, 6, (3, 2, 3), (2, 3, 1), (1, 0, 2), (1, 2, 0), groups=2, dilation=(1, 2, 1)),
        (2, 4, 4, 3, 4),
    ),
    "mean_3d": (nn.AvgPool3d((2, 3, 2), (1, 2, 2), (1, 1, 0), ceil_mode=True), (2, 3, 5, 8, 7)),
    "mean_3d_without_padding": (nn.AvgPool3d(3, 2, 1, count_include_pad=False), (3, 5, 8, 7)),
    "mean_3d_divided": (nn.AvgPool3d((2, 3, 2), 2, divisor_override=5), (2, 3, 5, 8, 7)),
    "mean_3d_of_cells": (nn.AdaptiveAvgPool3d((2, None, 3)), (2, 3, 5, 4, 7)),
    "mean_3d_of_all": (nn.AdaptiveAvgPool3d(1), (2, 3, 5, 4, 7)),
    "mean_3d_of_channels_last": (
        Program(lambda x: functional.adaptive_avg_pool3d(x.permute(0, 4, 1, 2, 3), 1)),
        (2, 5, 4, 7, 3),
    ),
    "unfolded": (nn.Unfold((3, 2), dilation=(1, 2), padding=(1, 0), stride=(2, 1)), (2, 3, 7, 8)),
    "folded": (nn.Fold((7, 8), (3, 2), dilation=(1, 2), padding=(1, 0), stride=(2, 1)), (2, 18, 24)),
    "transposed_3d_cut": (nn.ConvTranspose3d(2, 3, 2, 2, padding=2), (2, 4, 4, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_delegate(name: str) -> None:
    torch.manual_seed(1)
    model, shape = CASES[name]
    holds(model, [torch.randn(shape) for _ in range(2)])


@pytest.mark.parametrize(
    ("mode", "factor"),
    [("nearest-exact", (2.0, 3.0)), ("nearest", (2.0, 1.0, 3.0)), ("nearest-exact", (3.0, 2.0, 1.0))],
)
def test_whole_factors_of_an_open_size(mode: str, factor: tuple[float, ...]) -> None:
    images = [torch.randn(1, 3, height, *(4, 5)[: len(factor) - 1]) for height in (6, 5, 16)]
    holds(picked(mode, factor=factor), images, ({2: torch.export.Dim("height", min=2, max=16)},))


def test_places_in_volumes() -> None:
    """The first of equal numbers, and the last NaN, as in ATen; stock ExecuTorch has no kernel for the planes."""
    model = nn.AdaptiveMaxPool3d((2, 3, 5), return_indices=True).eval()
    x = torch.randint(0, 9, (2, 4, 7, 8, 6), generator=torch.Generator().manual_seed(0)).float()
    x[0, 1, 3:5, 2:6, 1] = math.nan
    method = Runtime.get().load_program(lower(model, x).to_executorch().buffer).load_method()
    for found, expected in zip(method.execute([x]), model(x), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def windows(x: Tensor) -> Tensor:
    """Windows of a video, as Swin's in three dimensions: [N, 4, 4, 6, C] by 2x2x3."""
    n, channels = x.shape[0], x.shape[-1]
    parts = x.relu().view(n, 2, 2, 2, 2, 2, 3, channels).permute(0, 1, 3, 5, 2, 4, 6, 7)
    rows = parts.reshape(-1, 12, channels)
    mixed = torch.softmax(rows @ rows.transpose(1, 2), -1) @ rows
    back = mixed.view(n, 2, 2, 2, 2, 2, 3, channels).permute(0, 1, 4, 2, 5, 3, 6, 7)
    return back.reshape(n, 4, 4, 6, channels).roll((-1, -1), (1, 2))


def relative_positions(x: Tensor, positions: Tensor) -> Tensor:
    """What MViT adds to the attention of a video."""
    bias = torch.einsum("nthwc,tkc->nthwk", x, positions)
    scores = torch.einsum("nthwc,nzyxc->nthwzyx", x, x)
    return (scores + bias[:, :, :, :, :, None, None]).flatten(1)


def reduced(x: Tensor) -> tuple[Tensor, ...]:
    """Reductions, slices and functions of eight dimensions."""
    high = x.view(-1, 2, 2, 2, 2, 2, 3, 8)
    return (
        high.mean((1, 3, 5)).flatten(1),
        high.amax((2, 3)).flatten(1),
        torch.softmax(high, 4).select(2, 1).flatten(1),
        (high[:, :, :, 1:].relu() * high[:, :1, :, 1:, -1:].expand(-1, 2, 2, 1, 2, 2, 3, 8)).flatten(1),
    )


OF_HIGH_RANK = {
    "windows": Program(windows),
    "relative_positions": Program(relative_positions, torch.linspace(-1, 1, 4 * 4 * 8).view(4, 4, 8).sin()),
    "reduced": Program(reduced),
}


@pytest.mark.parametrize("open_batch", [False, True])
@pytest.mark.parametrize("name", OF_HIGH_RANK)
def test_high_rank(name: str, open_batch: bool) -> None:
    x = torch.randn(3, 4, 4, 6, 8, generator=torch.Generator().manual_seed(0))
    shapes = ({0: torch.export.Dim("batch", min=2, max=8)},) if open_batch else None
    holds(OF_HIGH_RANK[name], [x, x[:2]] if open_batch else [x], shapes)
