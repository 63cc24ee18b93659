"""`xir-aot model.pte -o better.pte` and `xir.load`: files that there are already, made faster."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from api.stock_files import stock_file
from reference.modules import Calling, Function
from reference.runtimes import load_stock
from reference.tools import Tool
from torch import Tensor, nn

import xir
from xir.runtime import Runtime

X, SMALL = torch.randn(1, 64, 28, 28), torch.randn(1, 8, 32, 32)


def residual(m: Any, x: Tensor) -> Tensor:
    """A residual block, with channels and sizes whose convolutions have faster forms."""
    return torch.relu(x + m.second(torch.relu(m.first(x))))


def counted(m: Any, x: Tensor) -> Tensor:
    """Keeps a sum from call to call."""
    m.total += m.block(x)
    return m.total * 2


BLOCK = Calling(residual, first=nn.Conv2d(64, 64, 3, padding=1), second=nn.Conv2d(64, 64, 3, padding=1))
# Of SiLU ExecuTorch leaves the sigmoid in fp32 between conversions.
GATED = nn.Sequential(nn.Conv2d(8, 64, 1), nn.SiLU(), nn.Conv2d(64, 64, 5, padding=2, groups=64), nn.SiLU())


def outputs(path: str | Path, *inputs: Tensor) -> list[Tensor]:
    """In stock's runtime."""
    program = load_stock(Path(path))
    return [program.forward([each])[0].clone() for each in inputs]


def assert_near(got: Tensor, want: Tensor) -> None:
    assert (got - want).abs().max() <= 1e-4 * want.abs().max()


@pytest.fixture
def block(folder: Path) -> Path:
    return stock_file(BLOCK, (X,), folder / "block.pte")


def test_stock_runs_its_own_file_made_faster(block: Path, aot: Tool) -> None:
    said = aot("block.pte -o out/better.pte --cpu zen4 --max-growth 9 --no-stock").splitlines()
    assert "2 convolutions in faster forms" in said[0]
    assert "1 delegate, 0 kernels outside" in said[1]
    (got,), (want,) = outputs("out/better.pte", X), outputs(block, X)
    assert_near(got, want)
    assert not torch.equal(got, want)
    assert os.listdir("out") == ["better.pte"]


@pytest.mark.usefixtures("block")
def test_forms_and_times_are_of_the_threads_that_are_asked_for(aot: Tool) -> None:
    """On two threads forms of fewer nodes are the fastest, of which the file grows less."""
    command = "block.pte --cpu zen4 --max-growth 9 --no-stock"
    one, two = (aot(f"{command} -o {each}.pte --threads {each}").splitlines() for each in (1, 2))
    forms = [re.findall(r"in faster forms, (.*?); .* predicted for .* on (.*?);", each[0]) for each in (one, two)]
    assert forms == [[("2 as F(4x4)", "one thread")], [("2 as F(4x1)", "2 threads")]]
    assert any(" of the time on 2 threads, both" in line for line in two)
    assert any(line.startswith("    measured, 2 threads ") for line in two)
    assert Path("2.pte").stat().st_size < Path("1.pte").stat().st_size


def test_integers_stay_what_they_are(folder: Path, aot: Tool) -> None:
    path = stock_file(BLOCK, (X,), folder / "q8.pte", quantized="static")
    assert "the same outputs" in aot("q8.pte -o better.pte --no-stock")
    assert all(map(torch.equal, outputs("better.pte", X, 3 * X), outputs(path, X, 3 * X)))


def test_conversions_stay_where_integers_would_round_anew(folder: Path, aot: Tool) -> None:
    path = stock_file(GATED, (SMALL,), folder / "gated.pte", quantized="static")
    said = aot("gated.pte -o better.pte --no-stock").splitlines()
    assert "the whole program with its conversions is optimised (the whole program: outputs of" in said[0]
    assert any("the same outputs" in line for line in said)
    (want,) = outputs(path, SMALL)
    assert torch.equal(outputs("better.pte", SMALL)[0], want)
    aot("gated.pte -o rounded.pte --max-difference 0.02 --no-stock")
    assert 0 < (outputs("rounded.pte", SMALL)[0] - want).abs().max() <= 0.02 * want.abs().max()


@pytest.mark.usefixtures("folder")
def test_methods_and_buffers_are_compared_call_after_call(aot: Tool) -> None:
    counting = Calling(counted, block=BLOCK, total=torch.zeros(1, 64, 28, 28)).eval()
    methods = {name: torch.export.export(model, (X,)) for name, model in (("count", counting), ("block", BLOCK))}
    xir.to_edge(methods).to_backend(xir.XnnpackPartitioner(cpu="any")).to_executorch().save("two.pte")
    weights = sum(value.nbytes for value in BLOCK.parameters())
    assert Path("two.pte").stat().st_size < 1.1 * weights, "which the methods share"
    program = xir.load("two.pte")
    assert program.method_names == ["count", "block"]
    program.optimized(xir.XnnpackPartitioner(cpu="zen4")).save("better.pte")
    old, new = (Runtime.get().load_program(name) for name in ("two.pte", "better.pte"))
    for name in methods:
        before, after = old.load_method(name), new.load_method(name)
        for _ in range(3):
            assert_near(after.execute([X])[0], before.execute([X])[0])
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


def test_a_file_for_the_runtime_of_xir_alone(folder: Path, aot: Tool) -> None:
    """Is not compared in stock's, which would refuse it."""
    stock_file(GATED, (SMALL,), folder / "stock.pte")
    out = aot("stock.pte -o better.pte --target xir")
    assert "better.pte: compared in xir's runtime alone, as was asked for\n" in out
    assert b"XirXnnpackBackend" in Path("better.pte").read_bytes()
    files = ("stock.pte", "better.pte")
    old, new = (Runtime.get().load_program(name).load_method().execute([SMALL])[0] for name in files)
    assert_near(new, old)
