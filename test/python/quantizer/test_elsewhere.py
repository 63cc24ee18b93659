"""Graphs that others quantise are imported: every one of their operators has a row, none is opaque."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from reference.modules import Calling
from torch import Tensor, nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import xir
from xir.dialects import edge


def network(m: Any, x: Tensor) -> Tensor:
    y = torch.relu(m.norm(m.conv(x)))
    return m.linear(nn.functional.hardtanh(y + y, 0, 6).mean((2, 3)))


def names(program: torch.export.ExportedProgram) -> set[str]:
    return {op.name for op in xir.to_edge(program).module.walk() if isinstance(op, edge.EdgeOp)}


@pytest.mark.parametrize(("dynamic", "per_channel"), [(False, False), (True, True)])
def test_stock_quantizer(per_channel: bool, dynamic: bool) -> None:
    model = Calling(network, conv=nn.Conv2d(3, 8, 3), norm=nn.BatchNorm2d(8), linear=nn.Linear(8, 4)).eval()
    sample = (torch.rand(1, 3, 8, 8),)
    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic)
    )
    observed = prepare_pt2e(torch.export.export(model, sample).module(), quantizer)
    observed(*sample)
    found = names(torch.export.export(convert_pt2e(observed), sample))
    assert "edge.opaque" not in found
    assert ("edge.quantized_decomposed.choose_qparams.tensor" in found) == dynamic
    assert any("dequantize_per_channel" in name for name in found) == per_channel


@pytest.mark.filterwarnings("ignore")
def test_saved_programs_need_no_import_of_torchao(tmp_path: Path) -> None:
    """Neither one that xir has quantised nor one of torchao's."""
    model, sample = nn.Sequential(nn.Linear(64, 8)).eval(), (torch.rand(2, 64),)
    torch.export.save(xir.quantize(model, sample, config=xir.QuantConfig("int4")), tmp_path / "xir.pt2")
    quantize_(model, Int8DynamicActivationIntxWeightConfig())
    torch.export.save(torch.export.export(model, sample), tmp_path / "torchao.pt2")
    walk = "print(*(op.name for op in xir.to_edge(name).module.walk()))"
    script = f"import sys, xir\nfor name in ('xir.pt2', 'torchao.pt2'): {walk}"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        assert "dequantize" in line
        assert "edge.linear" in line
    assert len(done.stdout.splitlines()) == 2
    assert "Failed to load" not in done.stderr  # torchao's kernels for GPUs
