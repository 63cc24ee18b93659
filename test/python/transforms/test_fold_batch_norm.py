"""Folded batch norms compute what they did as modules of torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from xir.dialects.edge.families import BatchNorm
from xir.evaluate import run_module
from xir.importer import import_exported_program
from xir.ir.context import XirContext
from xir.ir.passes import PassManager
from xir.transforms.edge.fold_batch_norm import FoldBatchNormPass

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")

Models = dict[str, tuple[torch.Tensor, list[nn.Module]]]
"""Name -> an input and the modules that it goes through."""

torch.manual_seed(1)
IMAGE, ROW, ROWS = torch.randn(2, 4, 5, 6), torch.randn(2, 4, 9), torch.randn(3, 4)

FOLDED: Models = {
    "conv2d": (IMAGE, [nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6)]),
    "conv2d without bias": (IMAGE, [nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6)]),
    "grouped": (IMAGE, [nn.Conv2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)]),
    "depthwise": (IMAGE, [nn.Conv2d(4, 8, 3, groups=4), nn.BatchNorm2d(8)]),
    "conv1d": (ROW, [nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6)]),
    "transposed": (IMAGE, [nn.ConvTranspose2d(4, 6, 3, stride=2), nn.BatchNorm2d(6)]),
    "grouped transposed": (IMAGE, [nn.ConvTranspose2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)]),
    "transposed 1-D": (ROW, [nn.ConvTranspose1d(4, 6, 3, groups=2), nn.BatchNorm1d(6)]),
    "linear": (ROWS, [nn.Linear(4, 6), nn.BatchNorm1d(6)]),
    "without parameters": (IMAGE, [nn.Conv2d(4, 6, 1), nn.BatchNorm2d(6, affine=False)]),
    "twice": (IMAGE, [nn.Conv2d(4, 6, 1), nn.BatchNorm2d(6), nn.BatchNorm2d(6)]),
}

LEFT: Models = {
    "over a sequence": (torch.randn(2, 6, 4), [nn.Linear(4, 6), nn.BatchNorm1d(6)]),
    "without a batch": (torch.randn(4, 8, 6), [nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm1d(8)]),
    "after an activation": (IMAGE, [nn.Conv2d(4, 6, 3), nn.ReLU(), nn.BatchNorm2d(6)]),
}


def fold(x: torch.Tensor, modules: list[nn.Module]) -> int:
    """Check that folding keeps the values; how many batch norms it left."""
    for module in modules:
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            assert module.running_mean is not None
            assert module.running_var is not None
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
            for parameter in module.parameters():
                nn.init.uniform_(parameter, -2.0, 2.0)
    model = nn.Sequential(*modules).eval()
    ctx = XirContext()
    module = import_exported_program(torch.export.export(model, (x,)), ctx)
    PassManager(ctx, [FoldBatchNormPass()]).run(module)
    (result,) = run_module(module, ctx, [x])
    torch.testing.assert_close(result, model(x), rtol=1e-5, atol=1e-5)
    return sum(isinstance(op, BatchNorm) for op in module.walk())


@pytest.mark.parametrize("name", FOLDED)
def test_a_norm_folds(name: str) -> None:
    assert fold(*FOLDED[name]) == 0


@pytest.mark.parametrize("name", LEFT)
def test_a_norm_over_other_channels_stays(name: str) -> None:
    assert fold(*LEFT[name]) == 1
