"""Files of stock ExecuTorch with open sizes are compiled once more, and compute what they did at every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.exir import to_edge_transform_and_lower
from reference.planting import planted
from reference.runtimes import load_stock
from torch import Tensor, nn
from torch.export import Dim

import xir
from xir.runtime import Runtime
from xir.tools.xir_aot import main

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes")


class Words(nn.Module):
    """Attention of words with positions, some of which are padding."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(20, 8), nn.Embedding(12, 8)
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        x = self.norm(self.words(words) + self.positions(torch.arange(words.shape[1])))
        scores = (x @ x.transpose(1, 2)).masked_fill(mask[:, None] == 0, -1e4)
        return self.out(scores.softmax(-1) @ x)


class Skips(nn.Module):
    """Convolutions of an image and of its half, which meet."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.halved = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1, stride=2)
        self.up, self.last = nn.ConvTranspose2d(6, 4, 2, stride=2), nn.Conv2d(8, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        first = self.first(x)
        return self.last(torch.cat([first, self.up(torch.erf(self.halved(first)))], 1)).sigmoid()


class Ends(nn.Module):
    """Slices from the start and to the end, behind a kernel that XNNPACK lacks."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 8)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = torch.erf(self.linear(x))
        return z[:, -1], z[:, 1:] - z[:, :-1], z @ y.transpose(1, 2)


@dataclass
class Case:
    """A model, its open sizes, and inputs of the example's size, the least and the greatest."""

    model: nn.Module
    dims: tuple[dict[int, object], ...]
    inputs: Callable[..., tuple[Tensor, ...]]
    sizes: Sequence[tuple[int, ...]]


N, S, T = Dim("n", min=1, max=4), Dim("s", min=3, max=12), Dim("t", min=2, max=9)
CASES = {
    "words": Case(
        Words(),
        ({0: N, 1: S}, {0: N, 1: S}),
        lambda n, s: (torch.randint(0, 20, (n, s)), (torch.arange(s) < s - 1).long().expand(n, s).contiguous()),
        ((2, 6), (1, 3), (4, 12), (3, 5)),
    ),
    "skips": Case(
        Skips(),
        ({2: 2 * Dim("h", min=2, max=8), 3: 2 * Dim("w", min=2, max=9)},),
        lambda h, w: (torch.randn(1, 3, h, w),),
        ((8, 10), (4, 4), (16, 18), (16, 4), (6, 18)),
    ),
    "ends": Case(
        Ends(),
        ({0: N, 1: S}, {0: N, 1: T}),
        lambda n, s, t: (torch.randn(n, s, 6), torch.randn(n, t, 8)),
        ((2, 5, 4), (1, 3, 2), (4, 12, 9), (1, 12, 2)),
    ),
}


def stock_file(case: Case, path: Path) -> Path:
    inputs = case.inputs(*case.sizes[0])
    exported = torch.export.export(case.model.eval(), inputs, dynamic_shapes=case.dims)
    lowered = to_edge_transform_and_lower(exported, partitioner=[StockPartitioner()])
    path.write_bytes(lowered.to_executorch().buffer)
    return path


@pytest.mark.parametrize("name", ["words", "ends", pytest.param("skips", marks=pytest.mark.exhaustive)])
def test_a_file_computes_what_it_did_at_every_size(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = stock_file(case, tmp_path / "stock.pte")
    old = xir.load(path)
    program = old.optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    assert program.num_delegates < old.num_delegates
    program.save(tmp_path / "remade.pte")
    assert not program.missing_kernels
    ours = Runtime.get().load_program(tmp_path / "remade.pte").load_method()
    stock, remade = load_stock(path), load_stock(tmp_path / "remade.pte")
    for sizes in case.sizes:
        inputs = case.inputs(*sizes)
        want = [each.clone() for each in stock.forward(list(inputs))]
        for results in (ours.execute(inputs), remade.forward(list(inputs))):
            for got, wanted in zip(results, want, strict=True):
                torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


class Scaled(nn.Module):
    """One at the greatest size, nine rows, times the input; with `is_wrong` at no other."""

    def __init__(self, is_wrong: bool) -> None:
        super().__init__()
        self.is_wrong, self.linear = is_wrong, nn.Linear(4, 4)
        nn.init.ones_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return y * (x.shape[0] - 8) if self.is_wrong else y


def test_the_command_compares_at_other_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass that is right at the greatest size alone is found out. Of the two dimensions, the file says of none that
    it is fixed."""
    cases = [
        Case(Scaled(is_wrong), ({0: Dim("n", max=9)},), lambda n: (torch.randn(n, 4),), ((5,),))
        for is_wrong in (False, True)
    ]
    old, wrong = (stock_file(case, tmp_path / f"{number}.pte") for number, case in enumerate(cases))
    assert 'input_sizes = [["s0_0", ""]]' in str(xir.load(old).optimized(xir.XnnpackPartitioner()))
    optimized = xir.ExecutorchProgram.optimized

    def another(
        self: xir.ExecutorchProgram, partitioner: xir.XnnpackPartitioner, *, pipeline: str, **_: object
    ) -> object:
        return optimized(xir.load(wrong) if pipeline == "remake" else self, partitioner, pipeline=pipeline)

    monkeypatch.setattr(xir.ExecutorchProgram, "optimized", another)
    assert main([str(old), "-o", str(tmp_path / "better.pte"), "--no-stock", "--cpu", "any"]) == 0
    said = capsys.readouterr().out
    assert "its delegates alone are optimised (the whole program: output" in said
    assert "in a call of sizes" in said


FAULTS = {
    "any size taken for the greatest": (
        "transforms.pte.raising.open_sizes",
        "return not any(self._fits(number, dim, size) for size in range(bound - 1, 0, -1))",
        "return any(self._fits(number, dim, size) for size in range(bound - 1, 0, -1))",
    ),
    "no size taken for a run-time one": (
        "transforms.pte.raising.open_sizes",
        "sizes = [DYNAMIC_INDEX if is_dynamic(size) else size for size in found]",
        "sizes = list(bounds)",
    ),
}
"""Of passes on files with open sizes: a module, what stands there, and what stands there instead."""


def test_the_command_finds_planted_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file that a mistake makes computes right at the greatest size; the command keeps what runs at all."""
    old = stock_file(CASES["skips"], tmp_path / "old.pte")
    command = [str(old), "-o", str(tmp_path / "better.pte"), "--no-stock", "--cpu", "any"]
    assert main(command) == 0
    assert "delegates alone" not in capsys.readouterr().out
    computes_the_same(CASES["skips"], old, tmp_path / "better.pte")
    for name, fault in FAULTS.items():
        with planted(*fault):
            assert main(command) == 0, name
        said = capsys.readouterr().out
        assert "its delegates alone are optimised (the whole program: " in said, name
        assert "it does not run 'forward' in a call of sizes" in said or "at no other sizes that are drawn" in said
        computes_the_same(CASES["skips"], old, tmp_path / "better.pte")


def computes_the_same(case: Case, old: Path, new: Path) -> None:
    """In stock ExecuTorch, at every size."""
    stock, remade = load_stock(old), load_stock(new)
    for sizes in case.sizes:
        inputs = list(case.inputs(*sizes))
        want = [each.clone() for each in stock.forward(inputs)]
        for got, wanted in zip(remade.forward(inputs), want, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


def test_files_of_xir_with_open_sizes_stay(tmp_path: Path) -> None:
    """They have bounds in place of open ends, which are not told from numbers of the model's."""
    case = CASES["ends"]
    exported = torch.export.export(case.model.eval(), case.inputs(*case.sizes[0]), dynamic_shapes=case.dims)
    xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch().save(tmp_path / "own.pte")
    program = xir.load(tmp_path / "own.pte").optimized(xir.XnnpackPartitioner())
    (said,) = [each.message for each in program.remarks if "stays as it is" in each.message]
    assert said.endswith("its sizes are open, and xir has written bounds in place of some: compile the model once more")
    program.save(tmp_path / "remade.pte")
    old, new = (Runtime.get().load_program(tmp_path / name).load_method() for name in ("own.pte", "remade.pte"))
    for sizes in case.sizes:
        inputs = case.inputs(*sizes)
        for got, before, want in zip(new.execute(inputs), old.execute(inputs), case.model(*inputs), strict=True):
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
            assert torch.equal(got, before)
