"""`xir-aot model.pte -o better.pte` and `xir.load`: files that there are already, made faster."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge_transform_and_lower
from reference.modules import Function
from reference.runtimes import load_stock
from reference.tools import Tool
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import xir
from xir.runtime import Runtime


class Block(nn.Module):
    """A residual block, with channels and sizes whose convolutions have faster forms."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(64, 64, 3, padding=1)
        self.second = nn.Conv2d(64, 64, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(torch.relu(self.first(x))))


X = torch.randn(1, 64, 28, 28)


def stock_file(path: Path, model: type[nn.Module] = Block, x: Tensor = X, *, quantized: bool = False) -> Path:
    """A file that ExecuTorch makes of a model."""
    torch.manual_seed(0)
    program = torch.export.export(model().eval(), (x,))
    if quantized:
        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
        observed = prepare_pt2e(program.module(), quantizer)  # pyright: ignore[reportArgumentType]
        observed(x)
        program = torch.export.export(convert_pt2e(observed), (x,))
    lowered = to_edge_transform_and_lower(program, partitioner=[StockPartitioner()])
    path.write_bytes(lowered.to_executorch().buffer)
    return path


class Gated(nn.Module):
    """Convolutions and SiLU, whose sigmoid ExecuTorch leaves in fp32 between conversions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 64, 1)
        self.second = nn.Conv2d(64, 64, 5, padding=2, groups=64)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.silu(self.second(nn.functional.silu(self.first(x))))


def test_stock_runs_its_own_file_made_faster(folder: Path, aot: Tool) -> None:
    path = stock_file(folder / "block.pte")
    said = aot("block.pte -o out/better.pte --cpu zen4 --max-growth 9 --no-stock").splitlines()
    assert "2 convolutions in faster forms" in said[0]
    assert "1 delegate, 0 kernels outside" in said[1]
    got, want = (load_stock(each).forward([X])[0].clone() for each in (folder / "out/better.pte", path))
    assert (got - want).abs().max() <= 1e-4 * want.abs().max()
    assert not torch.equal(got, want)
    assert os.listdir(folder / "out") == ["better.pte"]


def test_forms_and_times_are_of_the_threads_that_are_asked_for(folder: Path, aot: Tool) -> None:
    """On two threads forms of fewer nodes are the fastest, of which the file grows less."""
    stock_file(folder / "block.pte")
    lines = {
        threads: aot(
            f"block.pte -o {threads}.pte --cpu zen4 --max-growth 9 --no-stock --threads {threads}"
        ).splitlines()
        for threads in (1, 2)
    }
    forms = [re.findall(r"in faster forms, (.*?); .* predicted for .* on (.*?);", lines[each][0]) for each in (1, 2)]
    assert forms == [[("2 as F(4x4)", "one thread")], [("2 as F(4x1)", "2 threads")]]
    assert any(" of the time on 2 threads, both" in line for line in lines[2])
    assert any(line.startswith("    measured, 2 threads ") for line in lines[2])
    assert (folder / "2.pte").stat().st_size < (folder / "1.pte").stat().st_size


def test_integers_stay_what_they_are(folder: Path, aot: Tool) -> None:
    path = stock_file(folder / "q8.pte", quantized=True)
    assert "the same outputs" in aot("q8.pte -o better.pte --no-stock")
    for given in (X, 3 * X):
        assert torch.equal(load_stock(folder / "better.pte").forward([given])[0], load_stock(path).forward([given])[0])


def test_conversions_stay_where_integers_would_round_anew(folder: Path, aot: Tool) -> None:
    x = torch.randn(1, 8, 32, 32)
    path = stock_file(folder / "gated.pte", Gated, x, quantized=True)
    said = aot("gated.pte -o better.pte --no-stock").splitlines()
    assert "the whole program with its conversions is optimised (the whole program: outputs of" in said[0]
    assert any("the same outputs" in line for line in said)
    want = load_stock(path).forward([x])[0].clone()
    assert torch.equal(load_stock(folder / "better.pte").forward([x])[0], want)
    aot("gated.pte -o rounded.pte --max-difference 0.02 --no-stock")
    rounded = load_stock(folder / "rounded.pte").forward([x])[0]
    assert 0 < (rounded - want).abs().max() <= 0.02 * want.abs().max()


class Counted(nn.Module):
    """Keeps a sum from call to call."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.register_buffer("total", torch.zeros(1, 64, 28, 28))

    def forward(self, x: Tensor) -> Tensor:
        self.total += self.block(x)  # pyright: ignore[reportUnannotatedClassAttribute]
        return self.total * 2


def test_methods_and_buffers_are_compared_call_after_call(folder: Path, aot: Tool) -> None:
    methods = {
        "count": torch.export.export(Counted().eval(), (X,)),
        "block": torch.export.export(Block().eval(), (X,)),
    }
    plain = xir.to_edge(methods).to_backend(xir.XnnpackPartitioner(cpu="any"))
    plain.to_executorch().save(folder / "two.pte")
    program = xir.load(folder / "two.pte")
    assert program.method_names == ["count", "block"]
    program.optimized(xir.XnnpackPartitioner(cpu="zen4")).save(folder / "better.pte")
    old, new = (Runtime.get().load_program(folder / name) for name in ("two.pte", "better.pte"))
    for name in methods:
        before, after = old.load_method(name), new.load_method(name)
        for _ in range(3):
            want = before.execute([X])[0]
            assert (after.execute([X])[0] - want).abs().max() <= 1e-4 * want.abs().max()
    assert "2 delegates, 1 kernel outside" in aot("two.pte -o better.pte --cpu zen4 --no-stock")


def test_a_file_that_differs_is_not_written(folder: Path, aot: Tool) -> None:
    noisy = Function(lambda x: torch.relu(x) + torch.rand_like(x))
    edge = xir.to_edge(torch.export.export(noisy, (torch.rand(4, 4),)))
    edge.to_backend(xir.XnnpackPartitioner()).to_executorch().save(folder / "noisy.pte")
    (folder / "better.pte").write_bytes(b"before")
    error = aot.refuse("noisy.pte -o better.pte --no-stock")
    assert error.startswith("xir-aot: error: noisy.pte: outputs of 'forward' in call ")
    assert (folder / "better.pte").read_bytes() == b"before"
    assert sorted(os.listdir(folder)) == ["better.pte", "noisy.pte"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.pte -o b.pte", "xir-aot: error: [Errno 2] No such file or directory: 'none.pte'"),
        ("cut.pte -o b.pte", "cut.pte: error: "),
        (
            "cut.bpte -o b.pte",
            "cut.bpte: error: this is a bundled program, with inputs and results to test it on: give",
        ),
        ("cut.pte -o b.bin", "xir-aot: error: -o takes a .pte file, got 'b.bin'"),
        ("cut.pte", "xir-aot: error: the following arguments are required: -o/--output"),
        ("cut.pte -o b.pte --cpu zen9", "xir-aot: error: "),
    ],
)
def test_errors_are_one_line(folder: Path, aot: Tool, arguments: str, message: str) -> None:
    (folder / "cut.pte").write_bytes(b"\x20\0\0\0ET12" + bytes(90))
    (folder / "cut.bpte").write_bytes(b"\x20\0\0\0BP08" + bytes(90))
    assert aot.refuse(arguments).startswith(message)
    assert not (folder / "b.pte").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("output", ["/proc/better.pte", "/proc/nowhere/better.pte", "taken.pte"])
def test_what_cannot_be_written_is_called_what_the_user_called_it(output: str, aot: Tool) -> None:
    """Not the name of a draft, which says nothing to anybody."""
    xir.to_edge(torch.export.export(nn.ReLU(), (X,))).to_executorch().save("old.pte")
    Path("taken.pte").mkdir()
    error = aot.refuse(f"old.pte -o {output} --no-stock")
    assert error.startswith("xir-aot: error: [Errno ")
    assert error.endswith(f": '{output}'\n")
    assert sorted(os.listdir()) == ["old.pte", "taken.pte"]


@pytest.mark.usefixtures("folder")
def test_a_file_for_the_runtime_of_xir_alone(aot: Tool) -> None:
    """Is not compared in stock's, which would refuse it."""
    path = stock_file(Path("stock.pte"), Gated, torch.randn(1, 8, 6, 6))
    out = aot(f"{path} -o better.pte --target xir")
    assert "better.pte: compared in xir's runtime alone, as was asked for\n" in out
    assert b"XirXnnpackBackend" in Path("better.pte").read_bytes()
    x = torch.randn(1, 8, 6, 6)
    old, new = (Runtime.get().load_program(name).load_method().execute([x])[0] for name in ("stock.pte", "better.pte"))
    assert (new - old).abs().max() <= 1e-4 * old.abs().max()
