"""Regressions planted in a build, one after the other: each fails it, with the line of the lock and what made it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import xir
from xir.tools.xir_aot import main
from xir.transforms import pipelines
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


@dataclass(frozen=True)
class Planted:
    """A regression."""

    name: str
    build: str
    """The build that it is planted in: one of `BUILDS`."""
    said: str
    """The fact that fails, as a regular expression of the text behind the line's number."""
    edit: tuple[str, ...] = ()
    """What of the model is replaced by what, in pairs."""
    add: str = ""
    """Further flags."""
    remove: str = ""
    """Flags that are left out."""
    plant: Callable[[pytest.MonkeyPatch], None] | None = None
    """What is changed in xir."""


BUILDS = {
    "fp32": "--model net.py:image -d --cpu zen4",
    "plain": "--model net.py:image -d --cpu any",
    "q8": "--model net.py:image -d -q --metric net.py:accuracy",
    "q4": "--model net.py:counting -d -q int4",
    "fp16": "--model net.py:counting -d --dtype fp16",
    "small": "--model net.py:bands -d --cpu any --max-arena 300000",
    "counting": "--model net.py:counting -d",
    "rows": "--model net.py:rows -d",
}
"""What is built, by name: its lock is written once."""


def without(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Remove a pass from the pipelines."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for pipeline, known in PIPELINES.items():
            passes = [each for each in re.split(r",(?![^{]*\})", known.text) if each.partition("{")[0] != name]
            patch.setitem(pipelines.PIPELINES, pipeline, Pipeline(",".join(passes), known.reason))

    return plant


def wide_alignment(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arenas, "ALIGNMENT", 4096)


def refused_softmax(patch: pytest.MonkeyPatch) -> None:
    """XNNPACK refuses late what the passes have made."""
    from xir.transforms.analysis.refusal import RefusalError

    known = graph_check.refused_nodes

    def refused(ctx: object, graphs: object) -> object:
        found = dict(known(ctx, graphs))  # pyright: ignore[reportArgumentType]
        for graph in graphs:  # pyright: ignore[reportGeneralTypeIssues]
            found |= {op: RefusalError("out of order") for op in graph.block.ops if op.name == "xnnpack.softmax"}  # pyright: ignore
        return found

    patch.setattr("xir.transforms.xnnpack.backend.refused_nodes", refused)


PLANTED = [
    Planted(
        "an op undelegated",
        "fp32",
        r"outside forward aten::_softmax.out -: nothing → 1, net.py:14; partition-xnnpack: the option exclude names it",
        add="--exclude _softmax",
    ),
    Planted(
        "an op that XNNPACK refuses late",
        "fp32",
        r"outside forward aten::_softmax.out -: nothing → 1, net.py:14; .*out of order.*",
        plant=refused_softmax,
    ),
    Planted(
        "a line that nothing delegates",
        "fp32",
        r"outside forward aten::cumsum.out -: 1, net.py:15 → 2, net.py:15; partition-xnnpack: no rule lowers it.*",
        edit=("return torch.cumsum(y, 1)", "return torch.cumsum(torch.cumsum(y, 1), 1)"),
    ),
    Planted(
        "another kernel outside",
        "fp32",
        r"outside forward aten::erfinv.out -: nothing → 1, net.py:15; partition-xnnpack: no rule lowers it.*",
        edit=("return torch.cumsum(y, 1)", "return torch.cumsum(torch.erfinv(y), 1)"),
    ),
    Planted(
        "a graph cut in two",
        "fp32",
        r"delegates forward XnnpackBackend: 1 → 3; partition-xnnpack: the option exclude names it; from net.py:13",
        add="--exclude relu",
    ),
    Planted(
        "a slower form",
        "fp32",
        r"layer forward body aten::conv2d: f32, as F\(4x4\), [\d,]+ multiply-adds → f32, conv2d, 28,901,376 "
        r"multiply-adds; .*winograd-conv2d ran with cpu=zen4, now without options.*; from net.py:13",
        add="--cpu any",
    ),
    Planted(
        "a form that is more exact and multiplies more",
        "fp32",
        r"layer forward body aten::conv2d: f32, as F\(4x4\), [\d,]+ multiply-adds → .*; "
        r"winograd-conv2d: conv2d is computed as .*; "
        r"winograd-conv2d ran with cpu=zen4, now with cpu=zen4 max-error=1.*",
        add="--max-error 1",
    ),
    Planted(
        "more time",
        "fp32",
        r'microseconds forward "AMD EPYC, Zen 4": [\d.]+ → [\d.]+ \(\+\d+\.\d%\); by .*',
        add="--max-error 0",
    ),
    Planted(
        "no time any more",
        "fp32",
        r'microseconds forward "AMD EPYC, Zen 4": [\d.]+ → nothing; nothing has predicted it: give the same --cpu',
        add="--cpu any",
    ),
    Planted(
        "a pass removed",
        "fp32",
        r"pass fuse-conv-relu: 1 → nothing; it no longer runs",
        plant=without("fuse-conv-relu"),
    ),
    Planted(
        "what a removed pass leaves undone",
        "counting",
        r"bytes-moved forward: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); .*fuse-conv-relu no longer runs",
        plant=without("fuse-conv-relu"),
    ),
    Planted(
        "weights that are multiplied at run time",
        "fp32",
        r"pass fold-batch-norm: 2 → nothing; it no longer runs",
        plant=without("fold-batch-norm"),
    ),
    Planted(
        "more multiplications",
        "fp32",
        r"multiply-adds forward: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); by body aten::conv2d \(.*",
        edit=("self.body = nn.Conv2d(64, 64, 3, padding=1)", "self.body = nn.Conv2d(64, 64, 5, padding=2)"),
    ),
    Planted(
        "arena larger",
        "counting",
        r"arena forward 1: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); most is alive at instruction 0, XnnpackBackend, "
        r"net.py:\d+: 4,096 bytes of f32\[1x64\] \(input 0\); .* and 1 more",
        plant=wide_alignment,
    ),
    Planted(
        "a delegate needs more memory",
        "small",
        r"memory forward: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); "
        r".*band-spatial ran with max-arena=300000, now without options.*",
        remove="--max-arena 300000",
    ),
    Planted(
        "2 % more bytes",
        "counting",
        r"bytes: [\d,]+ → [\d,]+ \(\+2\.\d%\); by second.0 aten::linear \(.*",
        edit=("= nn.Linear(128, 8)", "= nn.Sequential(nn.Linear(128, 8), nn.Linear(8, 8))"),
    ),
    Planted(
        "faster forms that take more bytes",
        "plain",
        r"bytes: [\d,]+ → [\d,]+ \(\+\d+\.\d%\); winograd-conv2d adds [\d,]+ bytes of weights",
        add="--cpu zen4",
    ),
    Planted(
        "a layer back in float",
        "q8",
        r"layer forward body aten::conv2d: q8 x q8 per channel, conv2d, .* → f32, conv2d, .*from net.py:13",
        add="--keep-float body",
    ),
    Planted(
        "fewer layers on integers",
        "q8",
        r"quantised forward: (\d+) of (\d+) → \d+ of \d+; by body aten::conv2d \(f32, .*",
        add="--keep-float body",
    ),
    Planted(
        "not quantised at all",
        "q4",
        r"quantised forward: 2 of \d+ → nothing.*",
        remove="-q int4",
    ),
    Planted(
        "a filter of more bits",
        "q4",
        r"layer forward first aten::linear: qd8 x q4 per 32, .* → qd8 x q8 per channel, .*",
        remove="-q int4",
        add="-q dynamic",
    ),
    Planted(
        "a type of more bits",
        "fp16",
        r"layer forward first aten::linear: f16.* → f32.*",
        remove="--dtype fp16",
    ),
    Planted(
        "accuracy down",
        "q8",
        r"accuracy top1: 0\.875 → 0\.874",
        edit=('"top1": 0.875', '"top1": 0.874'),
    ),
    Planted(
        "accuracy not measured",
        "q8",
        r"accuracy top1: 0\.875 → nothing; nothing has measured it: give the same --metric",
        remove="--metric net.py:accuracy",
    ),
    Planted(
        "an output type changed",
        "counting",
        r"output forward 0: f32\[1x8\] → f16\[1x8\]",
        edit=("return self.total * 2", "return (self.total * 2).half()"),
    ),
    Planted(
        "an output shape changed",
        "fp32",
        r"output forward 0: f32\[1x10\] → f32\[1x1x10\]",
        edit=("return torch.cumsum(y, 1)", "return torch.cumsum(y, 1).unsqueeze(0)"),
    ),
    Planted(
        "an output gone",
        "q8",
        r"output forward 0: f32\[1x10\] → f32\[1x64x28x28\]",
        edit=("return torch.cumsum(y, 1)", "return self.stem(x)"),
    ),
    Planted(
        "an input gone",
        "counting",
        r"input forward 1: f32\[1x128\] → nothing",
        edit=(
            *("def forward(self, x, scale):", "def forward(self, x):"),
            *("torch.relu(self.first(x)) * scale", "torch.relu(self.first(x))"),
            *(", torch.ones(1, 128))", ",)"),
        ),
    ),
    Planted(
        "an input of fewer sizes",
        "rows",
        r"input forward 0: f32\[\.\.16x8\] → f32\[\.\.8x8\]",
        edit=("max=16", "max=8"),
    ),
    Planted(
        "state gone",
        "counting",
        r"state total: f32\[1x8\] → nothing",
        edit=("self.total += y\n        return self.total * 2", "return y * 2"),
    ),
]
"""At least twenty, and each kind of facts."""


@pytest.fixture(scope="module")
def locks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the lock of each build."""
    folder = tmp_path_factory.mktemp("locks")
    before = os.getcwd()
    os.chdir(folder)
    try:
        (folder / "net.py").write_text(MODELS)
        for name, flags in BUILDS.items():
            assert main([*flags.split(), "-o", "out", "--lock", f"{name}.lock"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_planted(
    planted: Planted,
    locks: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    models = MODELS
    for old, new in zip(planted.edit[::2], planted.edit[1::2], strict=True):
        assert old in models
        models = models.replace(old, new)
    Path("net.py").write_text(models)
    shutil.copy(locks / f"{planted.build}.lock", "the.lock")
    before = Path("the.lock").read_text()
    flags = BUILDS[planted.build]
    assert planted.remove in flags
    capsys.readouterr()
    if planted.plant is not None:
        planted.plant(monkeypatch)
    command = [*flags.replace(planted.remove, "").split(), *planted.add.split(), "--lock", "the.lock", "-o", "out"]
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "Traceback" not in error
    found = [match for line in error.splitlines() if (match := re.fullmatch(r"the\.lock:(\d+): error: (.*)", line))]
    right = [match for match in found if re.fullmatch(planted.said, match[2])]
    assert right, error
    kind = right[0][2].split()[0].rstrip(":")
    facts = before.splitlines()
    number = int(right[0][1])
    assert ": nothing → " in right[0][2] or facts[number - 1].split()[0] == kind
    assert re.search(
        r"xir-aot: error: out/\w+\.pte: \d+ facts? do(es)? not hold, nothing is written; --update-lock", error
    )
    assert sorted({*os.listdir()} - {"__pycache__"}) == ["net.py", "the.lock"]
    assert Path("the.lock").read_text() == before


class Summed(torch.nn.Module):
    """An op that XNNPACK does not compute."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(-1)


@dataclass(frozen=True)
class PlantedInFile:
    """A regression of a file that somebody else has made."""

    name: str
    said: str
    methods: tuple[str, ...] = ("decode", "encode")
    length: int = 128
    middle: Callable[[], torch.nn.Module] = torch.nn.Identity
    """What stands behind the softmax: what XNNPACK computes would be delegated again."""


PLANTED_IN_FILES = [
    PlantedInFile("a method gone", r"method encode: 1 input, 1 output → nothing", methods=("decode",)),
    PlantedInFile("another constant", r"output get_length 0: int 128 → int 64", length=64),
    PlantedInFile("an op undelegated", r"outside encode aten::cumsum.out 2: nothing → 1, \S+:\d+; .*", middle=Summed),
    PlantedInFile("a graph cut in two", r"delegates decode XnnpackBackend: 1 → 2; .*", middle=Summed),
]


def file_of(planted: PlantedInFile) -> xir.ExecutorchProgram:
    """The file before it is made faster."""
    torch.manual_seed(0)
    layers = (torch.nn.Linear(8, 16), torch.nn.Softmax(-1), planted.middle(), torch.nn.Linear(16, 8))
    model = torch.nn.Sequential(*layers).eval()
    programs = {name: torch.export.export(model, (torch.randn(1, 8),)) for name in planted.methods}
    edge = xir.to_edge(programs, constant_methods={"get_length": planted.length})
    return edge.to_backend(xir.XnnpackPartitioner()).to_executorch()


@pytest.mark.parametrize("planted", PLANTED_IN_FILES, ids=lambda planted: planted.name)
def test_planted_in_file(
    planted: PlantedInFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["old.pte", "-o", "new.pte", "--no-stock", "--lock", "the.lock"]
    file_of(PlantedInFile("as it was", "")).save("old.pte")
    assert main(command) == 0
    before = [Path(name).read_bytes() for name in ("new.pte", "the.lock")]
    file_of(planted).save("old.pte")
    capsys.readouterr()
    assert main(command) == 1
    error = capsys.readouterr().err
    assert re.search(rf"^the\.lock:\d+: error: {planted.said}$", error, re.MULTILINE), error
    assert [Path(name).read_bytes() for name in ("new.pte", "the.lock")] == before
    assert sorted(os.listdir()) == ["new.pte", "old.pte", "the.lock"]


@pytest.mark.parametrize("name", BUILDS)
def test_the_same_build_keeps_its_lock(
    name: str, locks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From another folder, with other lines above, the facts are the same."""
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(MODELS)
    shutil.copy(locks / f"{name}.lock", "the.lock")
    assert main([*BUILDS[name].split(), "--lock", "the.lock", "-o", "out"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "the.lock: as the lock says"
    assert main([*BUILDS[name].split(), "--lock", "again.lock", "-o", "out"]) == 0
    assert Path("again.lock").read_bytes() == Path("the.lock").read_bytes()
