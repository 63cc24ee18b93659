"""Files of stock ExecuTorch with open sizes are compiled once more, and compute what they did at every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from api.stock_files import assert_same, remade, stock_file
from reference.modules import Calling
from reference.planting import planted
from reference.tools import Tool
from torch import Tensor, nn
from torch.export import Dim

import xir
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes")


def words(m: Any, words: Tensor, mask: Tensor) -> Tensor:
    """Attention of words with positions, some of which are padding."""
    x = m.norm(m.words(words) + m.positions(torch.arange(words.shape[1])))
    scores = (x @ x.transpose(1, 2)).masked_fill(mask[:, None] == 0, -1e4)
    return m.out(scores.softmax(-1) @ x)


def skips(m: Any, x: Tensor) -> Tensor:
    """Convolutions of an image and of its half, which meet."""
    first = m.first(x)
    return m.last(torch.cat([first, m.up(torch.erf(m.halved(first)))], 1)).sigmoid()


def ends(m: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Slices from the start and to the end, behind a kernel that XNNPACK lacks."""
    z = torch.erf(m.linear(x))
    return z[:, -1], z[:, 1:] - z[:, :-1], z @ y.transpose(1, 2)


WORDS = Calling(
    words, words=nn.Embedding(20, 8), positions=nn.Embedding(12, 8), norm=nn.LayerNorm(8), out=nn.Linear(8, 4)
)
SKIPS = Calling(
    skips,
    first=nn.Conv2d(3, 4, 3, padding=1),
    halved=nn.Conv2d(4, 6, 3, padding=1, stride=2),
    up=nn.ConvTranspose2d(6, 4, 2, stride=2),
    last=nn.Conv2d(8, 3, 1),
)


@dataclass
class Case:
    """A model, its open sizes, and inputs of the example's size, the least and the greatest."""

    model: nn.Module
    dims: tuple[dict[int, object], ...]
    inputs: Callable[..., tuple[Tensor, ...]]
    sizes: Sequence[tuple[int, ...]]

    def calls(self) -> list[tuple[Tensor, ...]]:
        """Inputs of all sizes."""
        return [self.inputs(*sizes) for sizes in self.sizes]

    def file(self, path: Path) -> Path:
        """Stock's file of it."""
        return stock_file(self.model, self.inputs(*self.sizes[0]), path, dynamic_shapes=self.dims)


N, S, T = Dim("n", min=1, max=4), Dim("s", min=3, max=12), Dim("t", min=2, max=9)
CASES = {
    "words": Case(
        WORDS,
        ({0: N, 1: S}, {0: N, 1: S}),
        lambda n, s: (torch.randint(0, 20, (n, s)), (torch.arange(s) < s - 1).long().expand(n, s).contiguous()),
        ((2, 6), (1, 3), (4, 12), (3, 5)),
    ),
    "skips": Case(
        SKIPS,
        ({2: 2 * Dim("h", min=2, max=8), 3: 2 * Dim("w", min=2, max=9)},),
        lambda h, w: (torch.randn(1, 3, h, w),),
        ((8, 10), (4, 4), (16, 18), (16, 4), (6, 18)),
    ),
    "ends": Case(
        Calling(ends, linear=nn.Linear(6, 8)),
        ({0: N, 1: S}, {0: N, 1: T}),
        lambda n, s, t: (torch.randn(n, s, 6), torch.randn(n, t, 8)),
        ((2, 5, 4), (1, 3, 2), (4, 12, 9), (1, 12, 2)),
    ),
}


@pytest.mark.parametrize("name", ["words", "ends"])
def test_a_file_computes_what_it_did_at_every_size(name: str, tmp_path: Path) -> None:
    path = CASES[name].file(tmp_path / "stock.pte")
    program = remade(path)
    assert program.num_delegates < xir.load(path).num_delegates
    assert not program.missing_kernels
    assert_same(path, *CASES[name].calls())


def test_the_command_compares_at_other_sizes(folder: Path, aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that is right at the greatest size alone, nine rows, is found out. Of the two dimensions, the file says of
    none that it is fixed."""
    linear = nn.Linear(4, 4)
    old, wrong = (
        Case(Calling(function, linear=linear), ({0: Dim("n", max=9)},), lambda n: (torch.randn(n, 4),), ((5,),)).file(
            folder / f"{name}.pte"
        )
        for name, function in (
            ("old", lambda m, x: m.linear(x)),
            ("wrong", lambda m, x: m.linear(x) * (x.shape[0] - 8)),
        )
    )
    assert 'input_sizes = [["s0_0", ""]]' in str(xir.load(old).optimized(xir.XnnpackPartitioner()))
    optimized = xir.ExecutorchProgram.optimized

    def another(program: xir.ExecutorchProgram, partitioner: Any, *, pipeline: str, **_: object) -> object:
        return optimized(xir.load(wrong) if pipeline == "remake" else program, partitioner, pipeline=pipeline)

    monkeypatch.setattr(xir.ExecutorchProgram, "optimized", another)
    said = aot(f"{old} -o better.pte --no-stock --cpu any")
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


def test_the_command_finds_planted_mistakes(folder: Path, aot: Tool) -> None:
    """The file that a mistake makes computes right at the greatest size; the command keeps what runs at all."""
    case = CASES["skips"]
    old = case.file(folder / "old.pte")
    command = f"{old} -o better.pte --no-stock --cpu any"
    assert "delegates alone" not in aot(command)
    assert_same(old, *case.calls())
    for name, fault in FAULTS.items():
        with planted(*fault):
            said = aot(command)
        assert "its delegates alone are optimised (the whole program: " in said, name
        assert "it does not run 'forward' in a call of sizes" in said or "at no other sizes that are drawn" in said
        assert_same(old, *case.calls())


def test_files_of_xir_with_open_sizes_stay(tmp_path: Path) -> None:
    """They have bounds in place of open ends, which are not told from numbers of the model's."""
    case = CASES["ends"]
    exported = torch.export.export(case.model.eval(), case.calls()[0], dynamic_shapes=case.dims)
    own = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer
    (tmp_path / "own.pte").write_bytes(own)
    program = xir.load(tmp_path / "own.pte").optimized(xir.XnnpackPartitioner())
    (said,) = [each.message for each in program.remarks if "stays as it is" in each.message]
    assert said.endswith("its sizes are open, and xir has written bounds in place of some: compile the model once more")
    old, new = (Runtime.get().load_program(each).load_method() for each in (own, program.buffer))
    for inputs in case.calls():
        for got, before, want in zip(new.execute(inputs), old.execute(inputs), case.model(*inputs), strict=True):
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
            assert torch.equal(got, before)
