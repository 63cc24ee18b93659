"""The plugin against the xir that is installed: its pass, its op in both runtimes, and what the tools say of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import xir_softclip
from commands import shell
from xir_softclip.torch_op import clipped, softclip

import xir
from xir.plugin import XirContext, passes_of, samples_of


class Model(torch.nn.Module):
    def __init__(self, limit: float) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.limit = limit

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softclip(self.linear(x), self.limit)


def test_the_tools_list_it() -> None:
    listing = shell("xir-opt --list-passes").stdout
    assert "--drop-wider-softclip\n      Drop the wider of two soft clips in a row.\n" in listing
    assert "ratio=<float> (default: 10.0): How much wider the other limit has to be." in listing
    assert "--delegate-softclip\n      drop-wider-softclip,delegate\n" in listing


@pytest.mark.parametrize("delegated", [True, False])
def test_the_op_in_both_runtimes(delegated: bool, tmp_path: Path) -> None:
    model, x = Model(2.5).eval(), torch.randn(2, 4)
    program = xir.to_edge(torch.export.export(model, (x,)))
    if delegated:
        program = program.to_backend(xir.XnnpackPartitioner())
        assert [op.name for op in program.module.walk() if op.name.startswith("edge.")] == []
    file = program.to_executorch().buffer
    (ours,) = xir.runtime.Runtime.get().load_program(file).load_method("forward").execute([x])
    torch.testing.assert_close(ours, model(x), rtol=1e-5, atol=1e-5)
    pybindings = pytest.importorskip("executorch.extension.pybindings.portable_lib")
    (stock,) = pybindings._load_for_executorch_from_buffer(file).forward([x])
    torch.testing.assert_close(stock, model(x), rtol=1e-5, atol=1e-5)


def test_its_refusal_is_a_remark() -> None:
    program = xir.to_edge(torch.export.export(Model(-1.0).eval(), (torch.randn(2, 4),)))
    (remark,) = program.to_backend(xir.XnnpackPartitioner()).remarks
    assert "edge.softclip.softclip not delegated: its limit is -1 (give a limit above zero)" in str(remark)


class Measured(torch.nn.Module):
    """A model that says how much of a layer it clips."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.relu(), clipped(x, 0.5)


@pytest.mark.parametrize("shape", [(3, 5), (40_000,), (0, 4)], ids=str)
def test_the_kernel_in_both_runtimes(shape: tuple[int, ...], tmp_path: Path) -> None:
    model, x = Measured(), torch.randn(shape)
    program = xir.to_edge(torch.export.export(model, (x,))).to_executorch()
    assert "softclip::clipped.out" in program.kernel_names
    _, ours = xir.runtime.Runtime.get().load_program(program.buffer, threads=2).load_method().execute([x])
    expected = clipped(x, 0.5) if x.numel() else torch.tensor(0.0)
    torch.testing.assert_close(ours, expected, rtol=1e-6, atol=0)
    (tmp_path / "m.pte").write_bytes(program.buffer)
    np.save(tmp_path / "x.npy", x.numpy())
    line = f"xnn_executor_runner --model_path {tmp_path}/m.pte --inputs {tmp_path}/x.npy --output-dir {tmp_path}"
    assert "there is no kernel for 'softclip::clipped.out'" in shell(line).stderr
    library = Path(xir_softclip.__file__).with_name("libsoftclip.so")
    done = shell(f"{line} --libraries {library} --iterations 1 --warmup 0")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "output_1.npy"), expected.numpy(), rtol=1e-6)


def test_the_kernel_and_not_torch_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Measured(), torch.randn(3, 5)
    program = xir.to_edge(torch.export.export(model, (x,))).to_executorch()
    monkeypatch.setattr("xir.runtime.fallback.find_kernel", lambda name: pytest.fail(f"torch is asked for {name}"))
    xir.runtime.Runtime.get().load_program(program.buffer).load_method().execute([x])


def test_its_samples_become_nodes() -> None:
    (sample,) = samples_of("edge.softclip.softclip")
    ctx = XirContext()
    module, _ = sample.build(ctx)
    for each in passes_of("partition-xnnpack"):
        each.apply(ctx, module)
    nodes = [op.name for op in module.walk() if op.name in ("xnnpack.unary", "xnnpack.binary")]
    assert nodes == ["xnnpack.binary", "xnnpack.unary", "xnnpack.binary"]
