"""What keeps a contract: bounds, files that are there already, what is better, and the Python API."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import xir
from xir.tools.xir_aot import main


class Block(nn.Module):
    """A softmax between layers, and a state."""

    def __init__(self, behind: nn.Module) -> None:
        super().__init__()
        self.first, self.behind, self.second = nn.Linear(8, 16), behind, nn.Linear(16, 8)
        self.register_buffer("total", torch.zeros(1, 8))

    def forward(self, x: Tensor) -> Tensor:
        self.total += self.second(self.behind(torch.softmax(self.first(x), -1)))  # pyright: ignore[reportUnannotatedClassAttribute]
        return self.total * 2


class Summed(nn.Module):
    """An op that XNNPACK does not compute."""

    def forward(self, x: Tensor) -> Tensor:
        return x.cumsum(-1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(
    *,
    exclude: tuple[str, ...] = (),
    names: tuple[str, ...] = ("forward",),
    length: int = 128,
    behind: type[nn.Module] = nn.Identity,
) -> xir.ExecutorchProgram:
    torch.manual_seed(0)
    model = Block(behind()).eval()
    exported = {name: torch.export.export(model, (torch.randn(1, 8),)) for name in names}
    edge = xir.to_edge(exported, constant_methods={"get_length": length})
    return edge.to_backend(xir.XnnpackPartitioner(exclude=exclude)).to_executorch()


@pytest.mark.parametrize(
    ("require", "wrong"),
    [
        ("delegates=1, outside=1, bytes<=4MB, arena<1kB, memory<=1 KiB, multiply-adds=256", []),
        ("outside=0", ["--require: outside=0: it is 1, forward aten::copy_ -: 1"]),
        ("outside<=1,delegates>1", ["--require: delegates>1: it is 1, forward XnnpackBackend: 1"]),
        ("bytes<=1kB, arena<10", ["--require: bytes<=1kB: it is", "--require: arena<10: it is"]),
        ("quantized>=95%", ["--require: quantized>=95%: it is 0.0 %"]),
        ("time<=1ms", ["--require: time<=1ms: no time is predicted: --cpu names one processor for that"]),
        ("accuracy.top1>=0.9", ["--require: accuracy.top1>=0.9: there is no such number: --metric gives it"]),
    ],
)
def test_bounds(folder: Path, require: str, wrong: list[str]) -> None:
    contract = xir.Contract(require=require)
    if not wrong:
        program().save("a.pte", contract=contract)
        return
    with pytest.raises(xir.BrokenContractError) as caught:
        program().save("a.pte", contract=contract)
    assert len(caught.value.lines) == len(wrong)
    for line, start in zip(caught.value.lines, wrong, strict=True):
        assert line.startswith(start)
    assert os.listdir() == []


def test_bounds_of_time_and_accuracy(folder: Path) -> None:
    accuracy = {"top1": 0.5, "top5": 0.75}
    program().save(
        "a.pte", contract=xir.Contract(require="time<1ms, accuracy.top5>=75%", cpu="zen4", accuracy=accuracy)
    )
    with pytest.raises(xir.BrokenContractError, match=r"accuracy>0\.5: it is 0\.5"):
        program().save("a.pte", contract=xir.Contract(require="accuracy>0.5", accuracy=accuracy))
    with pytest.raises(xir.BrokenContractError, match=r"time<=0us: it is [\d.]+ us"):
        program().save("a.pte", contract=xir.Contract(require="time<=0us", cpu="zen4"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"exclude": ("_softmax",)}, "outside forward aten::_softmax.out -: nothing → 1, test_contract.py:"),
        ({"names": ("other",)}, "method forward: 1 input, 1 output → nothing"),
        ({"length": 64}, "output get_length 0: int 128 → int 64"),
    ],
)
def test_worse(folder: Path, change: dict[str, object], said: str) -> None:
    contract = xir.Contract("a.lock")
    program().save("a.pte", contract=contract)
    before = Path("a.pte").read_bytes()
    changed = program(**change)  # pyright: ignore[reportArgumentType]
    with pytest.raises(xir.BrokenContractError, match=re.escape(said)) as caught:
        changed.save("a.pte", contract=xir.Contract("a.lock"))
    assert caught.value.is_worse
    assert Path("a.pte").read_bytes() == before
    assert sorted(os.listdir()) == ["a.lock", "a.pte"]
    kept = changed.save("a.pte", contract=xir.Contract("a.lock", update=True))
    assert kept is not None
    assert kept.lines()[-1] == "a.lock: written anew"
    assert any(said in line for line in kept.lines())
    again = changed.save("a.pte", contract=xir.Contract("a.lock", update=True))
    assert again is not None
    assert again.lines() == ["a.lock: as it was"]


def test_a_method_more_takes_nothing_away(folder: Path) -> None:
    program().save("a.pte", contract=xir.Contract("a.lock"))
    with pytest.raises(xir.BrokenContractError, match=r"\Aa.lock:\d+: error: bytes: .*\Z"):  # but bytes
        xir.Contract("a.lock").hold(program(names=("forward", "other")))
    text = re.sub("^bytes = .*", "bytes = 99999", Path("a.lock").read_text(), flags=re.MULTILINE)
    Path("a.lock").write_text(text)
    lines = xir.Contract("a.lock").hold(program(names=("forward", "other"))).lines()
    assert any("better than the lock: method other: nothing → 1 input, 1 output" in line for line in lines)


def test_better_is_told(folder: Path) -> None:
    program(exclude=("_softmax",)).save("a.pte", contract=xir.Contract("a.lock"))
    before = Path("a.lock").read_text()
    kept = program().save("a.pte", contract=xir.Contract("a.lock"))
    assert kept is not None
    lines = kept.lines()
    assert any(re.fullmatch(r"a.lock:\d+: better than the lock: delegates forward .*: 2 → 1", line) for line in lines)
    assert any("better than the lock: outside forward aten::_softmax.out -: 1, " in line for line in lines)
    assert lines[-1] == "a.lock: --update-lock keeps it"
    assert Path("a.lock").read_text() == before


def test_debug_information_is_not_held(folder: Path) -> None:
    lowered = program()
    lowered.save("a.pte", contract=xir.Contract("a.lock"))
    stripped = dataclasses.replace(lowered, debug_info=False)
    kept = stripped.save("a.pte", contract=xir.Contract("a.lock"))
    assert kept is not None
    assert [change.key for change in kept.changes] == [("bytes-written",)]
    lowered.save("a.pte", contract=xir.Contract("a.lock"))


def test_weights_apart_count(folder: Path) -> None:
    program().save("a.pte", weights_apart=True, contract=xir.Contract("a.lock"))
    size = Path("a.pte").stat().st_size + Path("a.ptd").stat().st_size
    assert f"\nbytes-written = {size}\n" in Path("a.lock").read_text()


def test_a_file_that_is_there_already(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program().save("old.pte")
    command = ["old.pte", "-o", "better.pte", "--no-stock", "--lock", "the.lock"]
    assert main([*command, "--require", "outside=1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("the.lock: ")
    lock = Path("the.lock").read_text()
    assert "layer forward first aten::linear = f32, fully_connected, 128 multiply-adds\n" in lock
    assert "outside forward aten::copy_ - = 1" in lock
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "the.lock: as the lock says"
    assert f"\nbytes-written = {Path('better.pte').stat().st_size}\n" in lock
    program(behind=Summed).save("old.pte")
    before = Path("better.pte").read_bytes()
    assert main(command) == 1
    error = capsys.readouterr().err
    assert re.search(
        r"^the\.lock:\d+: error: outside forward aten::cumsum.out behind: nothing → 1, test", error, re.MULTILINE
    )
    assert re.search(r"^the\.lock:\d+: error: delegates forward XnnpackBackend: 1 → 2", error, re.MULTILINE)
    assert error.endswith("nothing is written; --update-lock accepts what is worse than the lock\n")
    assert Path("better.pte").read_bytes() == before
    assert Path("the.lock").read_text() == lock
    assert sorted(os.listdir()) == ["better.pte", "old.pte", "the.lock"]
    assert main([*command, "--update-lock"]) == 0
    assert main(command) == 0


def test_a_lock_that_cannot_be_written_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError):
        program().save("a.pte", contract=xir.Contract("no/such/a.lock"))
    assert os.listdir() == []


def test_layers_of_a_file_that_names_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes of a stock file have names by their kind and place, and what is made of one belongs together."""
    torch.manual_seed(0)
    layers = nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(64, 8, 1)
    exported = torch.export.export(nn.Sequential(*layers).eval(), (torch.randn(1, 64, 28, 28),))
    lowered = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner(cpu="any"))
    lowered.to_executorch(debug_info=False).save("old.pte")
    command = ["old.pte", "-o", "new.pte", "--no-stock", "--lock", "the.lock"]
    assert main([*command, "--cpu", "zen4"]) == 0
    found = [line for line in Path("the.lock").read_text().splitlines() if line.startswith("layer ")]
    assert len(found) == 2
    assert re.fullmatch(r"layer forward - conv2d_1 = f32, as F\(4x4\), \d+ multiply-adds", found[0])
    assert found[1] == "layer forward - conv2d_2 = f32, conv2d, 401408 multiply-adds"
    capsys.readouterr()
    assert main([*command, "--cpu", "any"]) == 1
    error = capsys.readouterr().err
    assert re.search(r"layer forward - conv2d_1: f32, as F\(4x4\), .* → f32, conv2d, .*; .*winograd-conv2d ran", error)
