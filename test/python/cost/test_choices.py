"""Choices that were measured: their file, and the search that makes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import count, cycle
from math import inf
from pathlib import Path

import pytest
import torch
from reference.tools import Tool

import xir
from xir.cost.choices import Choices, ConvolutionLayer, MeasuredChoice, load_choices, parse_choices
from xir.dialects.xnnpack import Conv2dOp
from xir.tools.xir_aot import main as xir_aot
from xir.transforms.xnnpack.analysis.composed import ComposedOp
from xir.transforms.xnnpack.composed_convolutions.forms import DIRECT, Form
from xir.tuning import search as tuning
from xir.tuning.search import Undecided, search, tune, undecided

LAYER = ConvolutionLayer((1, 56, 56, 64), (64, 3, 3, 64), (1, 1, 1, 1), (1, 1), (1, 1), True)
OTHER = replace(LAYER, bounded=False)
CHOICES = Choices(
    "A processor",
    "executorch 1.5.1",
    (1, 2),
    {LAYER: MeasuredChoice((4, 4), True, 0.9), OTHER: MeasuredChoice((1, 1), False, 1.0)},
)


def test_a_file_says_what_was_written() -> None:
    assert parse_choices(CHOICES.text(), "c.toml") == CHOICES


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("version = 3", "version = 1", "c.toml has version 1, this is version 3: tune anew"),
        ("version = 3", "version", "c.toml is no file of choices: "),
        ("version = 3", "version = 3\nspeed = 2", "c.toml: there is no key 'speed'"),
        ("threads = [1, 2]", "threads = 2", "c.toml: threads must be a list of numbers from 1 on, it is 2"),
        ("threads = [1, 2]", "threads = [0]", "c.toml: threads must be a list of numbers from 1 on, it is [0]"),
        ('"A processor"', "7", "c.toml: processor must be a text, it is 7"),
        ("form = [4, 4]", "form = [4]", "c.toml: convolution 0: form must be 2 sizes"),
        ("[1, 56, 56, 64]", "[1, -56, 56, 64]", "c.toml: convolution 0: image must be 4 sizes"),
        ("[1, 56, 56, 64]", "[1, true, 56, 64]", "c.toml: convolution 0: image must be 4 sizes"),
        ("stride = [1, 1]", "stride = 1", "c.toml: convolution 0: stride must be 2 sizes, it is 1"),
        ("bounded = true", "bounded = 1", "c.toml: convolution 0: bounded must be true or false, it is 1"),
        ("bounded = true", "", "c.toml: convolution 0 needs image, filter, padding, stride, dilation, bounded, form"),
        ("ratio = 0.9", "ratio = -1", "c.toml: convolution 0: ratio must be a number above 0"),
        (
            "ratio = 0.9",
            "ratio = 0.9\nmore = 1",
            "c.toml: convolution 0 needs image, filter, padding, stride, dilation",
        ),
    ],
)
def test_a_file_that_is_wrong(before: str, after: str, message: str) -> None:
    assert before in CHOICES.text()
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        parse_choices(CHOICES.text().replace(before, after, 1), "c.toml")


def test_a_file_of_version_2_is_of_one_thread() -> None:
    text = CHOICES.text().replace("version = 3", "version = 2").replace("threads = [1, 2]\n", "")
    assert parse_choices(text, "c.toml") == replace(CHOICES, threads=(1,))


def form_of(choice: MeasuredChoice) -> Form:
    return Form(*choice.form, choice.by_gemm)


def test_the_search_takes_what_is_fastest_beside_what_was_found() -> None:
    one, two = Form(1, 1, by_gemm=True), Form(4, 4)
    times = {DIRECT: 100.0, one: 70.0, two: 80.0}

    def ratio_of(
        before: Mapping[ConvolutionLayer, MeasuredChoice], after: Mapping[ConvolutionLayer, MeasuredChoice]
    ) -> float:
        totals = [
            sum(times[form_of(layers[layer])] if layer in layers else 100.0 for layer in (LAYER, OTHER))
            for layers in (before, after)
        ]
        return totals[1] / totals[0]

    open_ones = [Undecided(LAYER, DIRECT, (two, one), 2.0), Undecided(OTHER, one, (two,), 1.0)]
    found = search(open_ones, {}, ratio_of, 60.0)
    assert found == {LAYER: MeasuredChoice((1, 1), True, 0.85), OTHER: MeasuredChoice((1, 1), True, 1.0)}
    # Nothing is begun after the time, and what was begun is finished.
    ticks = count()
    assert search(open_ones, {}, ratio_of, 1.5, clock=lambda: float(next(ticks))) == {LAYER: found[LAYER]}
    assert search(open_ones, {}, ratio_of, 0.0) == {}


class Timed:
    """A method whose runs take the nanoseconds that are given, over and over."""

    def __init__(self, *times: int) -> None:
        self.times = cycle(times)
        self.spent = 0

    def execute(self, inputs: object) -> None:
        """Take some time."""
        self.spent += next(self.times)


def test_a_clock_that_stands_still_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = Timed(10), Timed(0, 5)

    def clock() -> int:
        return before.spent + after.spent

    monkeypatch.setattr(tuning.time, "process_time_ns", clock)
    monkeypatch.setattr(tuning, "SECONDS", 0.0)
    assert tuning.paired(before, after, tuning.Here([])) == 0.5  # pyright: ignore[reportArgumentType]


def test_each_number_of_threads_counts_as_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that takes half of the time on one thread, and twice on two, is no gain."""
    edge = xir.to_edge(torch.export.export(torch.nn.Conv2d(48, 48, 3, padding=1), (torch.randn(1, 48, 30, 30),)))
    ratios = {1: 0.5, 2: 2.0, 3: 0.5}
    for threads, ratio in (((1,), 0.5), ((1, 2), 1.0), ((1, 3), 0.5)):
        timers = [tuning.Here([torch.randn(1, 48, 30, 30)], each) for each in threads]
        monkeypatch.setattr(tuning, "paired", lambda before, after, timer: ratios[timer.threads])
        trials = tuning.Trials(edge, xir.XnnpackPartitioner(cpu="zen4"), timers, tmp_path / "c.toml", CHOICES)
        assert trials.ratio({}, {}) == pytest.approx(ratio)


CONVOLUTION = torch.nn.Conv2d(64, 64, 3, padding=1), (torch.randn(1, 64, 28, 28),)
"""One whose forms differ with the number of threads."""


def test_the_search_predicts_what_the_pass_chooses() -> None:
    """On one thread, on two, and where both count."""
    edge = xir.to_edge(torch.export.export(*CONVOLUTION))
    forms: dict[tuple[str, int], str] = {}
    for cpu in ("generic-x86", "zen3", "zen4", "emeraldrapids"):
        for threads in (0, 1, 2):
            partitioner = xir.XnnpackPartitioner(cpu=cpu, threads=threads, max_growth=inf)
            remarks = edge.to_backend(partitioner).remarks
            chosen = [remark.form for remark in remarks if isinstance(remark, ComposedOp)] or [str(DIRECT)]
            assert [str(each.predicted) for each in undecided(edge, partitioner)] == chosen, (cpu, threads)
            forms[cpu, threads] = chosen[0]
    assert len({forms["generic-x86", threads] for threads in (0, 1, 2)}) == 3
    for cpu in ("zen3", "zen4", "emeraldrapids"):
        assert forms[cpu, 0] == forms[cpu, 1] != forms[cpu, 2]


@pytest.mark.usefixtures("hasty")
def test_forms_are_measured_on_the_threads_that_they_are_chosen_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge, inputs = xir.to_edge(torch.export.export(*CONVOLUTION)), CONVOLUTION[1]
    clocks: list[str] = []
    for name in ("process_time_ns", "perf_counter_ns"):
        clock = getattr(tuning.time, name)
        monkeypatch.setattr(tuning.time, name, lambda name=name, clock=clock: clocks.append(name) or clock())
    path = tmp_path / "two.toml"
    two = xir.XnnpackPartitioner(cpu="zen3", threads=2)
    assert tune(edge, two, inputs, path).measured == 1
    assert load_choices(path).threads == (2,)
    assert set(clocks) == {"perf_counter_ns"}, "processor time counts both"
    for cpu, threads in (("generic-x86", "one thread and 2 threads"), ("zen3", "one thread")):
        with pytest.raises(ValueError, match=f"was measured on 2 threads, and forms are chosen for {threads}: write"):
            tune(edge, xir.XnnpackPartitioner(cpu=cpu), inputs, path)
    both = tmp_path / "both.toml"
    assert tune(edge, xir.XnnpackPartitioner(cpu="generic-x86", max_growth=inf), inputs, both).measured == 1
    assert load_choices(both).threads == (1, 2)
    assert set(clocks) == {"perf_counter_ns", "process_time_ns"}


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms are compared by a few runs: which one is faster does not matter here."""
    monkeypatch.setattr(tuning, "SECONDS", 0.02)


@pytest.mark.usefixtures("hasty")
def test_a_program_follows_the_file(tmp_path: Path) -> None:
    torch.manual_seed(0)
    first, second = (torch.nn.Conv2d(48, 48, 3, padding=1) for _ in range(2))
    inputs = (torch.randn(1, 48, 30, 30),)
    edge = xir.to_edge(torch.export.export(torch.nn.Sequential(first, torch.nn.ReLU(), second), inputs))
    partitioner = xir.XnnpackPartitioner(cpu="zen4")
    layers = [each.layer for each in undecided(edge, partitioner)]
    assert [each.image for each in layers] == [(1, 30, 30, 48)] * 2
    path = tmp_path / "choices.toml"
    tuned = tune(edge, partitioner, inputs, path, 0.0)
    assert (tuned.measured, tuned.left) == (0, 2)
    tuned = tune(edge, partitioner, inputs, path)
    assert (tuned.measured, tuned.left) == (2, 0)
    known = load_choices(path)
    assert set(known.layers) == set(layers)
    first = edge.to_backend(tuned.partitioner).to_executorch().buffer
    again = tune(edge, partitioner, inputs, path, 0.0)
    assert (again.measured, again.left) == (0, 0)
    assert edge.to_backend(again.partitioner).to_executorch().buffer == first
    # What the file says counts, whatever the profile predicts.
    path.write_text(
        replace(known, layers=dict.fromkeys(layers, MeasuredChoice((1, 1), False, 1.0))).text(), encoding="utf-8"
    )
    direct = edge.to_backend(tuned.partitioner)
    assert sum(isinstance(op, Conv2dOp) for op in direct.module.walk()) == 2
    path.write_text(replace(known, processor="another").text(), encoding="utf-8")
    with pytest.raises(ValueError, match=r"was measured on another with executorch .*: write another file"):
        tune(edge, partitioner, inputs, path)
    with pytest.raises(ValueError, match="cpu 'any' names none"):
        tune(edge, xir.XnnpackPartitioner(cpu="any"), inputs, path)


@pytest.mark.usefixtures("hasty")
def test_xir_aot_tunes(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(
        "import torch\n\n\ndef net():\n    torch.manual_seed(0)\n"
        "    return torch.nn.Conv2d(48, 48, 3, padding=1), (torch.randn(1, 48, 30, 30),)\n"
    )
    aot, tuned = Tool(xir_aot, capsys), "--model net.py:net -d --tune c.toml"
    for said in ("1 convolutions measured, ", "0 convolutions measured, 0 in another form than predicted"):
        assert aot(f"{tuned} --cpu zen4 -t").startswith(f"c.toml: {said}")
    assert aot("--model net.py:net -d --tune there.toml --cpu zen4 --on local").startswith(
        "there.toml: 1 convolutions m"
    )
    assert 'xnnpack = "XNNPACK build ' in Path("there.toml").read_text()
    there = "--model net.py:net -d --tune there.toml --cpu zen4"
    assert "there.toml was measured on " in aot.refuse(there)
    assert "convolutions measured" in aot(f"{there} --tune-seconds 0")
    open_ones = "--tune measures what a cost profile leaves open: --cpu native, apple-m1, "
    assert open_ones in aot.refuse(f"{tuned} --cpu any")
    alone = aot.refuse("--model net.py:net -d --tune-seconds 3")
    assert "--tune-seconds says how long --tune may measure" in alone
    Path("c.toml").write_text("version = 0\n")
    old = "xir-aot: error: --tune: c.toml has version 0, this is version 3: tune anew\n"
    assert aot.refuse(f"{tuned} --cpu zen4") == old
