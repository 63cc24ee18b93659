"""Programs whose channels are padded compute what eager does, in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from executorch.runtime import Runtime as StockRuntime
from torch import Tensor, nn

import xir
from xir.cost.profile import KernelCost, load_profile
from xir.cost.work import FLOAT_KERNELS, Kernel
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import shape_of
from xir.ir.passes import XirPass
from xir.runtime import Runtime
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


class Excited(nn.Module):
    """An inverted residual with squeeze and excitation, on a trunk of as many channels."""

    def __init__(self, trunk: int, inner: int):
        super().__init__()
        self.stem = nn.Conv2d(3, trunk, 3, padding=1)
        self.expand = nn.Sequential(nn.Conv2d(trunk, inner, 1), nn.BatchNorm2d(inner), nn.Hardswish())
        self.depthwise = nn.Sequential(nn.Conv2d(inner, inner, 5, 2, 2, groups=inner), nn.ReLU6())
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(inner, 8, 1), nn.ReLU())
        self.excite = nn.Sequential(nn.Conv2d(8, inner, 1), nn.Hardsigmoid())
        self.project = nn.Conv2d(inner, trunk, 1)
        self.shortcut = nn.Conv2d(trunk, trunk, 1)
        self.scale = nn.Parameter(torch.randn(trunk, 1, 1))
        self.head = nn.Linear(trunk, 5)

    def forward(self, image: Tensor) -> Tensor:
        trunk = self.stem(image)
        inner = self.depthwise(self.expand(trunk))
        inner = inner * self.excite(self.squeeze(inner))
        short = nn.functional.max_pool2d(self.shortcut(trunk), 3, 2, 1) * self.scale - 0.5
        both = torch.maximum(self.project(inner) + short, torch.tanh(short))
        return self.head(both.mean((2, 3)))


class Pyramid(nn.Module):
    """Features that are enlarged and added, of rows and columns of pixels."""

    def __init__(self, channels: int):
        super().__init__()
        self.fine = nn.Conv2d(8, channels, 1)
        self.coarse = nn.Conv2d(8, channels, 1, stride=2)
        self.inner = nn.Conv2d(channels, channels, 1)
        self.both = nn.Conv2d(channels, 16, 3, padding=1)

    def forward(self, image: Tensor) -> Tensor:
        coarse = nn.functional.interpolate(self.inner(self.coarse(image)), scale_factor=2, mode="bilinear")
        return self.both(nn.functional.gelu(self.fine(image)) + coarse.sigmoid().neg().abs())


class Tokens(nn.Module):
    """Linear layers between tokens, with an activation, and a norm that sums over channels."""

    def __init__(self, channels: int):
        super().__init__()
        self.up = nn.Linear(16, channels)
        self.down = nn.Linear(channels, 24, bias=False)
        self.norm = nn.LayerNorm(24)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.norm(self.down(nn.functional.gelu(self.up(tokens))))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "excited": (lambda: Excited(24, 72), (2, 3, 10, 12)),
    "excited_whole": (lambda: Excited(32, 40), (1, 3, 9, 9)),
    "pyramid": (lambda: Pyramid(24), (1, 8, 8, 8)),
    "tokens": (lambda: Tokens(40), (2, 7, 16)),
}


@pytest.mark.parametrize("name", MODELS)
def test_padded_programs_agree_with_eager(name: str, tiles_of_16: str) -> None:
    torch.manual_seed(1)
    make, shape = MODELS[name]
    model = make().eval()
    image = torch.randn(shape)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    plain, padded = (edge.to_backend(each) for each in (xir.XnnpackPartitioner(), Padding(tiles_of_16)))
    assert channels_of(plain) != channels_of(padded), "nothing was padded"
    file = padded.to_executorch().buffer
    want = model(image)
    found = torch.as_tensor(Runtime.get().load_program(file).load_method("forward").execute([image])[0])
    stock = StockRuntime.get().load_program(file).load_method("forward")
    assert stock is not None
    for each in (found, stock.execute([image])[0]):
        torch.testing.assert_close(each, want, rtol=2e-5, atol=2e-6)


def test_padded_channels_are_whole_tiles(tiles_of_16: str) -> None:
    """What a convolution of 3x3 makes stays, as another kernel computes that, and so does what is returned."""
    make, shape = MODELS["excited"]
    edge = xir.to_edge(torch.export.export(make().eval(), (torch.randn(shape),)))
    assert channels_of(edge.to_backend(Padding(tiles_of_16))) == [24, 80, 80, 8, 80, 32, 32, 5]


def test_numbers_that_are_not_finite_stay_out(tiles_of_16: str) -> None:
    """Of a quotient of padded channels the pass cannot tell that it is a number."""

    class Divided(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Conv2d(16, 24, 1), nn.Conv2d(24, 16, 1)

        def forward(self, image: Tensor) -> Tensor:
            up = self.up(image)
            return self.down(up / (1 + up.abs()))

    image = torch.randn(1, 16, 6, 6)
    edge = xir.to_edge(torch.export.export(Divided().eval(), (image,)))
    assert channels_of(edge.to_backend(Padding(tiles_of_16))) == [24, 16]


def channels_of(program: xir.EdgeProgram) -> list[int]:
    """What each product and depthwise convolution of a program makes."""
    kinds = (xnnpack.Conv2dOp, xnnpack.DepthwiseConv2dOp, xnnpack.FullyConnectedOp)
    return [shape_of(op.results[0])[-1] for op in program.module.walk() if isinstance(op, kinds)]
