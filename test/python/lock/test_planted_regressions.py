"""Regressions planted in a build, one after the other: each fails it, with the line of the lock and what made it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from reference.tools import Tool

from xir.tools.xir_aot import main
from xir.transforms import pipelines
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.pipelines import PIPELINES, Pipeline
from xir.transforms.pte.memory import arenas
from xir.transforms.xnnpack.legality import graph_check

MODELS = """\
import torch
from torch import nn


class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
        self.body = nn.Conv2d(64, 64, 3, padding=1)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        y = torch.relu(self.body(self.stem(x)))
        y = torch.softmax(self.head(y.mean((2, 3))), -1)
        return torch.cumsum(y, 1)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.second = nn.Linear(128, 8)
        self.register_buffer("total", torch.zeros(1, 8))

    def forward(self, x, scale):
        y = self.second(torch.relu(self.first(x)) * scale)
        self.total += y
        return self.total * 2


def image():
    torch.manual_seed(0)
    return Image().eval(), (torch.randn(1, 64, 28, 28),)


def counting():
    torch.manual_seed(0)
    return Counting().eval(), (torch.randn(1, 64), torch.ones(1, 128))


def rows():
    torch.manual_seed(0)
    batch = torch.export.Dim("batch", max=16)
    return nn.Linear(8, 8), (torch.randn(4, 8),), {}, {"input": {0: batch}}


def bands():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 8, 3, padding=1, stride=2)
    return nn.Sequential(*layers), (torch.randn(1, 3, 64, 64),)


def accuracy(program):
    return {"top1": 0.875, "top5": 0.9375}
"""
BUILDS = {
    "fp32": "image -d --cpu zen4",
    "plain": "image -d --cpu any",
    "q8": "image -d -q --metric net.py:accuracy",
    "q4": "counting -d -q int4",
    "fp16": "counting -d --dtype fp16",
    "small": "bands -d --cpu any --max-arena 300000",
    "counting": "counting -d",
    "rows": "rows -d",
}
"""What is built, by name: its lock is written once."""


def without_fusion(patch: pytest.MonkeyPatch) -> None:
    """Remove a pass from the pipelines."""
    for pipeline, known in PIPELINES.items():
        passes = [each for each in re.split(r",(?![^{]*\})", known.text) if each != "fuse-conv-relu"]
        patch.setitem(pipelines.PIPELINES, pipeline, Pipeline(",".join(passes), known.reason))


def wide_alignment(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arenas, "ALIGNMENT", 4096)


def refused_softmax(patch: pytest.MonkeyPatch) -> None:
    """XNNPACK refuses late what the passes have made."""
    known = graph_check.refused_nodes

    def refused(ctx: object, graphs: object) -> object:
        found = dict(known(ctx, graphs))  # pyright: ignore[reportArgumentType]
        for graph in graphs:  # pyright: ignore[reportGeneralTypeIssues]
            found |= {op: RefusalError("out of order") for op in graph.block.ops if op.name == "xnnpack.softmax"}  # pyright: ignore
        return found

    patch.setattr("xir.transforms.xnnpack.backend.refused_nodes", refused)


PLANTED = r"""
fp32: an op undelegated
    $ image -d --cpu zen4 --exclude _softmax
    ! outside forward aten::_softmax.out -: nothing → 1, net.py:14; partition-xnnpack: the option exclude names it
fp32: an op that XNNPACK refuses late
    % refused_softmax
    ! outside forward aten::_softmax.out -: nothing → 1, net.py:14; .*out of order.*
fp32: a line that nothing delegates
    - return torch.cumsum(y, 1)
    + return torch.cumsum(torch.cumsum(y, 1), 1)
    ! outside forward aten::cumsum.out -: 1, net.py:15 → 2, net.py:15; partition-xnnpack: no rule lowers it.*
fp32: another kernel outside, and an output of another shape
    - return torch.cumsum(y, 1)
    + return torch.cumsum(torch.erfinv(y), 1).unsqueeze(0)
    ! outside forward aten::erfinv.out -: nothing → 1, net.py:15; partition-xnnpack: no rule lowers it.*
    ! output forward 0: f32\[1x10\] → f32\[1x1x10\]
fp32: a graph cut in two
    $ image -d --cpu zen4 --exclude relu
    ! delegates forward XnnpackBackend: 1 → 3; partition-xnnpack: the option exclude names it; from net.py:13
fp32: a slower form, and no time any more
    $ image -d --cpu any
    ! layer forward body aten::conv2d: f32, as F\(4x4\), [\d,]+ multiply-adds → f32, conv2d,
    & 28,901,376 multiply-adds; .*winograd-conv2d ran with cpu=zen4, now without options.*; from net.py:13
    ! microseconds forward "AMD EPYC, Zen 4": [\d.]+ → nothing; nothing has predicted it: give the same --cpu
fp32: a form that is more exact, multiplies more and takes more time
    $ image -d --cpu zen4 --max-error 1
    ! layer forward body aten::conv2d: f32, as F\(4x4\), [\d,]+ multiply-adds → .*;
    & winograd-conv2d: conv2d is computed as .*; winograd-conv2d ran with cpu=zen4, now with cpu=zen4 max-error=1.*
    ! microseconds forward "AMD EPYC, Zen 4": [\d.]+ → [\d.]+ \(\+\d+\.\d%\); by .*
fp32: more multiplications
    - self.body = nn.Conv2d(64, 64, 3, padding=1)
    + self.body = nn.Conv2d(64, 64, 5, padding=2)
    ! multiply-adds forward: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); by body aten::conv2d \(.*
counting: a pass removed, and what it leaves undone
    % without_fusion
    ! pass fuse-conv-relu: 1 → nothing; it no longer runs
    ! bytes-moved forward: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); .*fuse-conv-relu no longer runs
counting: arena larger
    % wide_alignment
    ! arena forward 1: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); most is alive at instruction 0,
    & XnnpackBackend, net.py:\d+: 4,096 bytes of f32\[1x64\] \(input 0\); .* and 1 more
small: a delegate needs more memory
    $ bands -d --cpu any
    ! memory forward: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); .*band-spatial ran with max-arena=300000, now without options.*
counting: 2 % more bytes
    - = nn.Linear(128, 8)
    + = nn.Sequential(nn.Linear(128, 8), nn.Linear(8, 8))
    ! bytes: [\d,]+ → [\d,]+ \(\+2\.\d%\); by second.0 aten::linear \(.*
plain: faster forms that take more bytes
    $ image -d --cpu zen4
    ! bytes: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); winograd-conv2d adds [\d,]+ bytes of weights
q8: a layer back in float
    $ image -d -q --metric net.py:accuracy --keep-float body
    ! layer forward body aten::conv2d: q8 x q8 per channel, conv2d, .* → f32, conv2d, .*from net.py:13
    ! quantised forward: (\d+) of (\d+) → \d+ of \d+; by body aten::conv2d \(f32, .*
q4: not quantised at all
    $ counting -d
    ! quantised forward: 2 of \d+ → nothing.*
q4: a filter of more bits
    $ counting -d -q dynamic
    ! layer forward first aten::linear: qd8 x q4 per 32, .* → qd8 x q8 per channel, .*
fp16: a type of more bits
    $ counting -d
    ! layer forward first aten::linear: f16.* → f32.*
q8: accuracy down
    - "top1": 0.875
    + "top1": 0.874
    ! accuracy top1: 0\.875 → 0\.874
q8: accuracy not measured
    $ image -d -q
    ! accuracy top1: 0\.875 → nothing; nothing has measured it: give the same --metric
counting: an output type changed, and an input gone
    - def forward(self, x, scale):
    + def forward(self, x):
    - torch.relu(self.first(x)) * scale
    + torch.relu(self.first(x))
    - , torch.ones(1, 128))
    + ,)
    - return self.total * 2
    + return (self.total * 2).half()
    ! input forward 1: f32\[1x128\] → nothing
    ! output forward 0: f32\[1x8\] → f16\[1x8\]
rows: an input of fewer sizes
    - max=16
    + max=8
    ! input forward 0: f32\[\.\.16x8\] → f32\[\.\.8x8\]
counting: state gone
    - self.total += y
    + return y
    ! state total: f32\[1x8\] → nothing
"""
"""The build and a name; `$` the flags in the place of the build's, `%` what is changed in xir, `-` and `+` lines of the
model; `!` the facts that fail, as regular expressions of the text behind the line's number, `&` their rest."""


@dataclass
class Planted:
    """A regression."""

    name: str
    build: str
    flags: str
    plant: Callable[[pytest.MonkeyPatch], None] = lambda _: None
    model: str = MODELS
    said: list[str] = field(default_factory=list[str])


def planted() -> Iterator[Planted]:
    for part in re.split(r"\n(?=\w)", PLANTED.strip()):
        head, *lines = part.splitlines()
        build, name = head.split(": ", 1)
        found, old = Planted(name, build, BUILDS[build]), ""
        for mark, text in (line.strip().split(" ", 1) for line in lines):
            match mark:
                case "$":
                    found.flags = text
                case "%":
                    found.plant = globals()[text]
                case "-":
                    old = text
                case "+":
                    assert old in found.model
                    found.model = found.model.replace(old, text)
                case "!":
                    found.said.append(text)
                case _:
                    assert mark == "&"
                    found.said[-1] += f" {text}"
        assert found.said
        yield found


@pytest.fixture(scope="module")
def locks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the lock of each build."""
    folder = tmp_path_factory.mktemp("locks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "net.py").write_text(MODELS)
        for name, flags in BUILDS.items():
            assert main([*f"--model net.py:{flags} -o out --lock".split(), f"{name}.lock"]) == 0
    return folder


@pytest.mark.parametrize("planted", list(planted()), ids=lambda planted: planted.name)
def test_planted(planted: Planted, locks: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, aot: Tool) -> None:
    (folder / "net.py").write_text(planted.model)
    shutil.copy(locks / f"{planted.build}.lock", "the.lock")
    before = Path("the.lock").read_text()
    planted.plant(monkeypatch)
    aot(f"--model net.py:{planted.flags} --lock the.lock -o out", code=1)
    assert "Traceback" not in aot.err
    failed = re.findall(r"^the\.lock:(\d+): error: (.*)$", aot.err, re.MULTILINE)
    for said in planted.said:
        number, text = next((each for each in failed if re.fullmatch(said, each[1])), ("", ""))
        assert number, f"{said}\n{aot.err}"
        kind = text.split()[0].rstrip(":")
        assert ": nothing → " in text or before.splitlines()[int(number) - 1].split()[0] == kind
    told = r"xir-aot: error: out/\w+\.pte: \d+ facts? do(es)? not hold, nothing is written; --update-lock"
    assert re.search(told, aot.err)
    assert sorted({*os.listdir()} - {"__pycache__"}) == ["net.py", "the.lock"]
    assert Path("the.lock").read_text() == before


@pytest.mark.parametrize("name", BUILDS)
def test_the_same_build_keeps_its_lock(name: str, locks: Path, folder: Path, aot: Tool) -> None:
    """From another folder, with other lines above, the facts are the same."""
    (folder / "net.py").write_text(MODELS)
    aot(f"--model net.py:{BUILDS[name]} --lock again.lock -o out")
    assert Path("again.lock").read_bytes() == (locks / f"{name}.lock").read_bytes()
    if name == "rows":  # reading one and comparing it is the same for all
        assert aot(f"--model net.py:{BUILDS[name]} --lock again.lock -o out").splitlines()[-1] == (
            "again.lock: as the lock says"
        )
