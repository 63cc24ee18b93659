"""Programs whose channels are padded compute what eager does, in both runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn

import xir
from xir.cost.profile import KernelCost, load_profile
from xir.cost.work import FLOAT_KERNELS, Kernel
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import shape_of
from xir.ir.passes import XirPass
from xir.transforms.xnnpack.schedule.pad_channels import PadChannelsPass


@dataclass(frozen=True)
class Padding:
    """The partitioner that pads channels by a profile, and chooses nothing else."""

    profile: str

    def passes(self) -> Sequence[XirPass]:
        chosen = PadChannelsPass(self.profile)
        return [chosen if each.name == chosen.name else each for each in xir.XnnpackPartitioner().passes()]


@pytest.fixture
def tiles_of_16(tmp_path: Path) -> str:
    """A profile in which a kernel of 16 columns is three times as fast as that of 8, and nothing else takes time."""
    free = KernelCost(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    kernels: dict[Kernel, KernelCost] = dict.fromkeys(FLOAT_KERNELS, free)
    kernels["gemm"] = replace(free, work=1.0, narrow_work=3.0, columns=16, narrow=8)
    file = tmp_path / "tiles.toml"
    file.write_text(replace(load_profile("zen4"), kernels=kernels).text(), encoding="utf-8")
    return str(file)


def excited(trunk: int, inner: int) -> nn.Module:
    """An inverted residual with squeeze and excitation, on a trunk of as many channels."""

    def forward(m: Any, image: Tensor) -> Tensor:
        trunk = m.stem(image)
        inner = m.depthwise(m.expand(trunk))
        inner = inner * m.excite(m.squeeze(inner))
        short = nn.functional.max_pool2d(m.shortcut(trunk), 3, 2, 1) * m.scale - 0.5
        both = torch.maximum(m.project(inner) + short, torch.tanh(short))
        return m.head(both.mean((2, 3)))

    return Calling(
        forward,
        stem=nn.Conv2d(3, trunk, 3, padding=1),
        expand=nn.Sequential(nn.Conv2d(trunk, inner, 1), nn.BatchNorm2d(inner), nn.Hardswish()),
        depthwise=nn.Sequential(nn.Conv2d(inner, inner, 5, 2, 2, groups=inner), nn.ReLU6()),
        squeeze=nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(inner, 8, 1), nn.ReLU()),
        excite=nn.Sequential(nn.Conv2d(8, inner, 1), nn.Hardsigmoid()),
        project=nn.Conv2d(inner, trunk, 1),
        shortcut=nn.Conv2d(trunk, trunk, 1),
        scale=nn.Parameter(torch.randn(trunk, 1, 1)),
        head=nn.Linear(trunk, 5),
    )


def pyramid(m: Any, image: Tensor) -> Tensor:
    """Features that are enlarged and added, of rows and columns of pixels."""
    coarse = nn.functional.interpolate(m.inner(m.coarse(image)), scale_factor=2, mode="bilinear")
    return m.both(nn.functional.gelu(m.fine(image)) + coarse.sigmoid().neg().abs())


PYRAMID = {
    "fine": nn.Conv2d(8, 24, 1),
    "coarse": nn.Conv2d(8, 24, 1, stride=2),
    "inner": nn.Conv2d(24, 24, 1),
    "both": nn.Conv2d(24, 16, 3, padding=1),
}
TOKENS = nn.Sequential(nn.Linear(16, 40), nn.GELU(), nn.Linear(40, 24, bias=False), nn.LayerNorm(24))
MODELS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "excited": (excited(24, 72), (2, 3, 10, 12)),
    "excited_whole": (excited(32, 40), (1, 3, 9, 9)),
    "pyramid": (Calling(pyramid, **PYRAMID), (1, 8, 8, 8)),
    "tokens": (TOKENS, (2, 7, 16)),
}


@pytest.mark.parametrize("name", MODELS)
def test_padded_programs_agree_with_eager(name: str, tiles_of_16: str) -> None:
    model, shape = MODELS[name]
    image = torch.randn(shape)
    edge = xir.to_edge(torch.export.export(model.eval(), (image,)))
    plain, padded = (edge.to_backend(each) for each in (xir.XnnpackPartitioner(), Padding(tiles_of_16)))
    assert channels_of(plain) != channels_of(padded), "nothing was padded"
    agree(padded.to_executorch().buffer, model, [(image,)], rtol=2e-5, atol=2e-6)


def test_padded_channels_are_whole_tiles(tiles_of_16: str) -> None:
    """What a convolution of 3x3 makes stays, as another kernel computes that, and so does what is returned."""
    model, shape = MODELS["excited"]
    edge = xir.to_edge(torch.export.export(model.eval(), (torch.randn(shape),)))
    assert channels_of(edge.to_backend(Padding(tiles_of_16))) == [24, 80, 80, 8, 80, 32, 32, 5]


def test_numbers_that_are_not_finite_stay_out(tiles_of_16: str) -> None:
    """Of a quotient of padded channels the pass cannot tell that it is a number."""

    def divided(m: Any, image: Tensor) -> Tensor:
        up = m.up(image)
        return m.down(up / (1 + up.abs()))

    model = Calling(divided, up=nn.Conv2d(16, 24, 1), down=nn.Conv2d(24, 16, 1))
    image = torch.randn(1, 16, 6, 6)
    edge = xir.to_edge(torch.export.export(model.eval(), (image,)))
    assert channels_of(edge.to_backend(Padding(tiles_of_16))) == [24, 16]


def channels_of(program: xir.EdgeProgram) -> list[int]:
    """What each product and depthwise convolution of a program makes."""
    kinds = (xnnpack.Conv2dOp, xnnpack.DepthwiseConv2dOp, xnnpack.FullyConnectedOp)
    return [shape_of(op.results[0])[-1] for op in program.module.walk() if isinstance(op, kinds)]
