"""Products that are split by columns compute what eager does, and the same bits as whole ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from reference.runtimes import agree
from torch import nn

import xir
from xir.cost.profile import KernelCost, load_profile
from xir.cost.work import FLOAT_KERNELS, Kernel
from xir.dialects import xnnpack
from xir.ir.passes import XirPass
from xir.ir.walking import ops_in
from xir.runtime import Runtime
from xir.transforms.xnnpack.schedule.split_columns import SplitColumnsPass


@dataclass(frozen=True)
class Splitting:
    """The partitioner that splits by a profile, and chooses nothing else."""

    profile: str

    def passes(self) -> Sequence[XirPass]:
        chosen = SplitColumnsPass(self.profile)
        return [chosen if each.name == chosen.name else each for each in xir.XnnpackPartitioner(cpu="any").passes()]


@pytest.fixture
def small_cache(tmp_path: Path) -> str:
    """A profile of a core whose own cache is of 8 KB, and in which nothing takes time but reading weights again."""
    free = KernelCost(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    kernels: dict[Kernel, KernelCost] = dict.fromkeys(FLOAT_KERNELS, free)
    for kernel in ("gemm", "igemm"):
        kernels[kernel] = replace(free, refetch=1.0, rows=2, columns=4)
    file = tmp_path / "cache.toml"
    file.write_text(replace(load_profile("zen4"), caches=(8192, 1 << 20), kernels=kernels).text(), encoding="utf-8")
    return str(file)


def test_an_embedding_shares_its_weights_with_the_product(small_cache: str) -> None:
    """So they are stored once, whole."""
    embedding, head = nn.Embedding(100, 48), nn.Linear(48, 100, bias=False)
    split = Splitting(small_cache)
    index = torch.arange(9).reshape(1, 9)
    sizes = []
    for tied in (False, True):
        if tied:
            head.weight = embedding.weight
        program = xir.to_edge(torch.export.export(nn.Sequential(embedding, nn.ReLU(), head).eval(), (index,)))
        lowered = program.to_backend(split)
        assert any(ops_in(lowered.module, xnnpack.ConcatenateOp)) != tied
        sizes.append(len(lowered.to_executorch().buffer))
    assert sizes[1] < sizes[0] - 15_000


@pytest.mark.parametrize(
    ("model", "shape", "parts"),
    [
        (nn.Sequential(nn.Linear(48, 100), nn.ReLU(), nn.Linear(100, 40, bias=False)), (2, 9, 48), 4),
        (nn.Conv2d(96, 100, 1), (2, 96, 11, 9), 5),
        (nn.Sequential(nn.Conv2d(6, 30, 3, 2, 1, 2), nn.ReLU6()), (1, 6, 13, 12), 2),
        (nn.Conv2d(14, 48, 3, groups=2), (1, 14, 9, 9), 0),
    ],
    ids=["linear", "pointwise", "dilated", "groups"],
)
def test_splits_agree(model: nn.Module, shape: tuple[int, ...], parts: int, small_cache: str) -> None:
    image = torch.randn(shape)
    exported = torch.export.export(model.eval(), (image,))
    whole, split = (
        xir.to_edge(exported).to_backend(each) for each in (xir.XnnpackPartitioner(cpu="any"), Splitting(small_cache))
    )
    joined = [len(op.inputs) for op in ops_in(split.module, xnnpack.ConcatenateOp)]
    assert sum(joined) == parts
    files = [each.to_executorch().buffer for each in (whole, split)]
    agree(files[1], model, [(image,), (100 * image,)], rtol=1e-4, of_largest=1e-5)
    results = [Runtime.get().load_program(file).load_method("forward").execute([image])[0] for file in files]
    before, after = (np.from_dlpack(each) for each in results)
    np.testing.assert_array_equal(before, after)
    assert len(files[1]) < len(files[0]) + 4000, "the weights are stored once"
