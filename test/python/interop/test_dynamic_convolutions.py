"""Files of ExecuTorch's with convolutions that quantise their input at run time, and images that they declare turned.

ExecuTorch declares some images between nodes as [N, C, H, W] where the nodes compute [N, H, W, C], or the reverse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge_transform_and_lower
from reference.modules import Calling
from reference.runtimes import load_stock
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import xir
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes")


def block() -> nn.Module:
    """A block of a ConvNeXt: its linear layers are on images whose channels are last, between convolutions."""

    def forward(m: Any, x: Tensor) -> Tensor:
        x = m.stem(x)
        y = m.norm(m.depthwise(x).permute(0, 2, 3, 1))
        return x + m.narrow(nn.functional.gelu(m.wide(y))).permute(0, 3, 1, 2)

    parts = {"depthwise": nn.Conv2d(8, 8, 3, padding=1, groups=8), "norm": nn.LayerNorm(8)}
    return Calling(forward, stem=nn.Conv2d(3, 8, 3, padding=1), wide=nn.Linear(8, 16), narrow=nn.Linear(16, 8), **parts)


MODELS = {
    "convolutions": nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GELU(), nn.Conv2d(16, 8, 3), nn.GELU()),
    "block": block(),
}
IMAGE = torch.randn(2, 3, 10, 12)


def stock_file(model: nn.Module, path: Path) -> Path:
    """ExecuTorch's file of a model that is quantised at run time."""
    exported = torch.export.export(model.eval(), (IMAGE,))
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    observed = prepare_pt2e(
        exported.module(),  # pyright: ignore[reportArgumentType]
        XNNPACKQuantizer().set_global(config),
    )
    observed(IMAGE)
    exported = torch.export.export(convert_pt2e(observed), (IMAGE,))
    path.write_bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_a_file_runs_and_is_made_better(name: str, tmp_path: Path) -> None:
    path, better = stock_file(MODELS[name], tmp_path / "stock.pte"), tmp_path / "better.pte"
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert "!xnnpack.qd<i8, 3>" in str(program)
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    program.save(better)
    for factor in (1, 3):
        given = [factor * IMAGE]
        (want,) = load_stock(path).forward(given)
        for each in (path, better):
            (ours,) = Runtime.get().load_program(each).load_method().execute(given)
            (theirs,) = load_stock(each).forward(given)
            # A number in the middle between two integers may become either.
            largest = want.abs().max()
            assert (ours - want).abs().max() < 0.01 * largest, each
            assert (theirs - want).abs().max() < 0.01 * largest, each
