"""What keeps a contract: bounds, files that are there already, what is better, and the Python API."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from reference.modules import Function
from reference.tools import Tool
from torch import Tensor, nn

import xir

pytestmark = pytest.mark.usefixtures("folder")


class Block(nn.Module):
    """A softmax between layers, and a state. A class, whose lines are told."""

    def __init__(self, behind: nn.Module) -> None:
        super().__init__()
        self.first, self.behind, self.second = nn.Linear(8, 16), behind, nn.Linear(16, 8)
        self.register_buffer("total", torch.zeros(1, 8))

    def forward(self, x: Tensor) -> Tensor:
        self.total += self.second(self.behind(torch.softmax(self.first(x), -1)))  # pyright: ignore[reportUnannotatedClassAttribute]
        return self.total * 2


def program(
    *,
    exclude: tuple[str, ...] = (),
    names: tuple[str, ...] = ("forward",),
    length: int = 128,
    behind: nn.Module | None = None,
) -> xir.ExecutorchProgram:
    torch.manual_seed(0)
    model = Block(behind or nn.Identity()).eval()
    exported = {name: torch.export.export(model, (torch.randn(1, 8),)) for name in names}
    edge = xir.to_edge(exported, constant_methods={"get_length": length})
    return edge.to_backend(xir.XnnpackPartitioner(exclude=exclude)).to_executorch()


def saved(found: xir.ExecutorchProgram, **options: Any) -> list[str]:
    """What is told of a file that keeps the lock."""
    kept = found.save("a.pte", contract=xir.Contract("a.lock", **options))
    assert kept is not None
    return kept.lines()


ACCURACY = {"top1": 0.5, "top5": 0.75}
BOUNDS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("delegates=1, outside=1, bytes<=4MB, arena<1kB, memory<=1 KiB, multiply-adds=256", {}, []),
    ("time<1ms, accuracy.top5>=75%", {"cpu": "zen4", "accuracy": ACCURACY}, []),
    ("outside=0", {}, ["outside=0: it is 1, forward aten::copy_ -: 1"]),
    ("outside<=1,delegates>1", {}, ["delegates>1: it is 1, forward XnnpackBackend: 1"]),
    ("bytes<=1kB, arena<10", {}, ["bytes<=1kB: it is", "arena<10: it is"]),
    ("quantized>=95%", {}, ["quantized>=95%: it is 0.0 %"]),
    ("time<=1ms", {}, ["time<=1ms: no time is predicted: --cpu names one processor for that"]),
    ("time<=0us", {"cpu": "zen4"}, ["time<=0us: it is "]),
    ("accuracy.top1>=0.9", {}, ["accuracy.top1>=0.9: there is no such number: --metric gives it"]),
    ("accuracy>0.5", {"accuracy": ACCURACY}, ["accuracy>0.5: it is 0.5"]),
]
"""Bounds, options beside them, and what is told of those that do not hold."""


def test_bounds() -> None:
    lowered = program()
    for require, options, wrong in BOUNDS:
        contract = xir.Contract(require=require, **options)
        if not wrong:
            lowered.save("a.pte", contract=contract)
            os.remove("a.pte")
            continue
        with pytest.raises(xir.BrokenContractError) as caught:
            lowered.save("a.pte", contract=contract)
        assert len(caught.value.lines) == len(wrong), require
        for line, start in zip(caught.value.lines, wrong, strict=True):
            assert line.startswith(f"--require: {start}")
        assert os.listdir() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"exclude": ("_softmax",)}, "outside forward aten::_softmax.out -: nothing → 1, test_contract.py:"),
        ({"names": ("other",)}, "method forward: 1 input, 1 output → nothing"),
        ({"length": 64}, "output get_length 0: int 128 → int 64"),
    ],
)
def test_worse(change: dict[str, Any], said: str) -> None:
    saved(program())
    before = Path("a.pte").read_bytes()
    changed = program(**change)
    with pytest.raises(xir.BrokenContractError, match=re.escape(said)) as caught:
        saved(changed)
    assert caught.value.is_worse
    assert Path("a.pte").read_bytes() == before
    assert sorted(os.listdir()) == ["a.lock", "a.pte"]
    lines = saved(changed, update=True)
    assert lines[-1] == "a.lock: written anew"
    assert any(said in line for line in lines)
    assert saved(changed, update=True) == ["a.lock: as it was"]


def test_a_method_more_takes_nothing_away() -> None:
    saved(program())
    two = program(names=("forward", "other"))
    with pytest.raises(xir.BrokenContractError, match=r"\Aa.lock:\d+: error: bytes: .*\Z"):  # but bytes
        xir.Contract("a.lock").hold(two)
    text = re.sub("^bytes = .*", "bytes = 99999", Path("a.lock").read_text(), flags=re.MULTILINE)
    Path("a.lock").write_text(text)
    lines = xir.Contract("a.lock").hold(two).lines()
    assert any("better than the lock: method other: nothing → 1 input, 1 output" in line for line in lines)


def test_better_is_told() -> None:
    saved(program(exclude=("_softmax",)))
    before = Path("a.lock").read_text()
    lines = saved(program())
    assert any(re.fullmatch(r"a.lock:\d+: better than the lock: delegates forward .*: 2 → 1", line) for line in lines)
    assert any("better than the lock: outside forward aten::_softmax.out -: 1, " in line for line in lines)
    assert lines[-1] == "a.lock: --update-lock keeps it"
    assert Path("a.lock").read_text() == before


def test_debug_information_is_not_held() -> None:
    lowered = program()
    saved(lowered)
    kept = dataclasses.replace(lowered, debug_info=False).save("a.pte", contract=xir.Contract("a.lock"))
    assert kept is not None
    assert [change.key for change in kept.changes] == [("bytes-written",)]
    saved(lowered)


def test_weights_apart_count() -> None:
    program().save("a.pte", weights_apart=True, contract=xir.Contract("a.lock"))
    size = Path("a.pte").stat().st_size + Path("a.ptd").stat().st_size
    assert f"\nbytes-written = {size}\n" in Path("a.lock").read_text()


def test_a_file_that_is_there_already(aot: Tool) -> None:
    program().save("old.pte")
    command = "old.pte -o better.pte --no-stock --lock the.lock"
    assert aot(f"{command} --require outside=1").splitlines()[-1].startswith("the.lock: ")
    lock = Path("the.lock").read_text()
    assert "layer forward first aten::linear = f32, fully_connected, 128 multiply-adds\n" in lock
    assert "outside forward aten::copy_ - = 1" in lock
    assert aot(command).splitlines()[-1] == "the.lock: as the lock says"
    assert f"\nbytes-written = {Path('better.pte').stat().st_size}\n" in lock
    program(behind=Function(lambda x: x.cumsum(-1))).save("old.pte")  # which XNNPACK does not compute
    before = Path("better.pte").read_bytes()
    aot(command, code=1)
    for said in (
        "outside forward aten::cumsum.out behind: nothing → 1, ",
        "delegates forward XnnpackBackend: 1 → 2",
    ):
        assert re.search(rf"^the\.lock:\d+: error: {said}", aot.err, re.MULTILINE), aot.err
    assert aot.err.endswith("nothing is written; --update-lock accepts what is worse than the lock\n")
    assert Path("better.pte").read_bytes() == before
    assert Path("the.lock").read_text() == lock
    assert sorted(os.listdir()) == ["better.pte", "old.pte", "the.lock"]
    aot(f"{command} --update-lock")
    aot(command)


def test_a_lock_that_cannot_be_written_leaves_no_file() -> None:
    with pytest.raises(FileNotFoundError):
        program().save("a.pte", contract=xir.Contract("no/such/a.lock"))
    assert os.listdir() == []


def test_layers_of_a_file_that_names_none(aot: Tool) -> None:
    """Nodes of a stock file have names by their kind and place, and what is made of one belongs together."""
    torch.manual_seed(0)
    layers = nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(64, 8, 1)
    exported = torch.export.export(nn.Sequential(*layers).eval(), (torch.randn(1, 64, 28, 28),))
    lowered = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner(cpu="any"))
    lowered.to_executorch(debug_info=False).save("old.pte")
    command = "old.pte -o new.pte --no-stock --lock the.lock"
    aot(f"{command} --cpu zen4")
    found = [line for line in Path("the.lock").read_text().splitlines() if line.startswith("layer ")]
    assert len(found) == 2
    assert re.fullmatch(r"layer forward - conv2d_1 = f32, as F\(4x4\), \d+ multiply-adds", found[0])
    assert found[1] == "layer forward - conv2d_2 = f32, conv2d, 401408 multiply-adds"
    aot(f"{command} --cpu any", code=1)
    said = r"layer forward - conv2d_1: f32, as F\(4x4\), .* → f32, conv2d, .*; .*winograd-conv2d ran"
    assert re.search(said, aot.err)
